"""The written account of an export: what was copied, resampled, marked, left out and lost, with numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.deliver.align import Aligned
    from twinloop.deliver.lerobot.camera import CameraPlan
    from twinloop.deliver.lerobot.plan import EpisodePlan, LeftOut

#: Images from one keyframe to the next, from which on random access gets slow.
GOP_LIMIT = 10
#: A sample that rows hold for longer is warned of where --max-age does not say what is too long.
HELD_LIMIT_MS = 1000.0


@dataclass(slots=True)
class CameraAccount:
    """What happened to one camera's images in all episodes. Times in ms."""

    remuxed: int = 0
    reencoded: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    codecs: Counter[str] = field(default_factory=Counter)
    longest_gop: int = 0
    dropped: int = 0
    duplicated: int = 0
    undecodable: int = 0
    lead_images: int = 0
    heads: int = 0
    largest_true_minus_grid_ms: float = 0.0
    largest_after_row_ms: float = 0.0
    largest_before_row_ms: float = 0.0

    def add(self, plan: CameraPlan, codec: str, broken: int, gop: int) -> None:
        """Count one episode."""
        self.remuxed += plan.remuxed
        self.reencoded += not plan.remuxed
        self.reasons.update(reason.value for reason in plan.reasons)
        self.codecs[codec] += 1
        self.longest_gop = max(self.longest_gop, gop)
        self.dropped += plan.dropped
        self.duplicated += plan.duplicated
        self.undecodable += broken
        self.lead_images += plan.lead
        self.heads += plan.head > 0
        self.largest_true_minus_grid_ms = max(self.largest_true_minus_grid_ms, plan.grid_error_ns / 1e6)
        self.largest_after_row_ms = max(self.largest_after_row_ms, plan.after_ns / 1e6)
        self.largest_before_row_ms = max(self.largest_before_row_ms, plan.before_ns / 1e6)


@dataclass(slots=True)
class FeatureAccount:
    """How the samples of one feature of numbers were brought to the rows. Ages in ms, of valid and invalid
    rows."""

    align: str
    rows: int = 0
    not_finite: int = 0
    too_old: int = 0
    oldest_ms: float = 0.0
    latest_after_row_ms: float = 0.0
    _age_sum_ns: float = 0.0

    @property
    def mean_age_ms(self) -> float:
        """Mean distance of a row from its sample."""
        return self._age_sum_ns / max(self.rows, 1) / 1e6

    def add(self, aligned: Aligned, max_age_ns: float) -> None:
        """Count one episode."""
        age = np.abs(aligned.age_ns[aligned.found])
        self.rows += len(aligned.found)
        self.not_finite += int((~np.isfinite(aligned.values)).any(axis=1).sum())
        self.too_old += int((age > max_age_ns).sum())
        if len(age):
            self.oldest_ms = max(self.oldest_ms, float(age.max()) / 1e6)
            self.latest_after_row_ms = max(
                self.latest_after_row_ms, float(-aligned.age_ns[aligned.found].min()) / 1e6
            )
            self._age_sum_ns += float(age.sum())


@dataclass(slots=True)
class EpisodeAccount:
    """One episode of the dataset."""

    episode_index: int
    session: str
    episode: str
    part: int
    parts: int
    rows: int
    trimmed_rows: int
    filled_rows: int
    after_gap_s: float | None
    largest_true_minus_grid_ms: float
    invalid_rows: list[tuple[int, int]]
    cameras: dict[str, dict[str, object]]


@dataclass(slots=True)
class Account:
    """All of it. `to_json` is what ``account.json`` holds."""

    fps: int
    clock: str
    align: str
    max_age_ms: float | None
    episodes: list[EpisodeAccount] = field(default_factory=list)
    cameras: dict[str, CameraAccount] = field(default_factory=dict)
    features: dict[str, FeatureAccount] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)
    dry_run: bool = False

    @property
    def rows(self) -> int:
        """Rows of all episodes."""
        return sum(episode.rows for episode in self.episodes)

    @property
    def invalid_rows(self) -> int:
        """Rows marked invalid."""
        return sum(stop - start for episode in self.episodes for start, stop in episode.invalid_rows)

    @property
    def largest_true_minus_grid_ms(self) -> float:
        """Largest distance of a row's true time from its time on the grid."""
        return max((e.largest_true_minus_grid_ms for e in self.episodes), default=0.0)

    def add_episode(
        self, index: int, plan: EpisodePlan, on_grid_ns: NDArray[np.int64], valid: NDArray[np.bool_]
    ) -> None:
        """Enter an episode; its cameras and features are entered by themselves."""
        self.episodes.append(
            EpisodeAccount(
                episode_index=index,
                session=plan.source.session,
                episode=plan.episode.id,
                part=plan.part,
                parts=plan.parts,
                rows=len(valid),
                trimmed_rows=plan.trimmed,
                filled_rows=plan.span.filled,
                after_gap_s=plan.span.after_gap_s,
                largest_true_minus_grid_ms=float(np.abs(plan.span.row_ns - on_grid_ns).max()) / 1e6,
                invalid_rows=ranges(~valid),
                cameras={
                    name: {
                        "remuxed": camera.remuxed,
                        "reasons": {reason.value: why for reason, why in camera.reasons.items()},
                        "lead_images": camera.lead,
                        "reencoded_first_rows": camera.head,
                        "dropped": camera.dropped,
                        "duplicated": camera.duplicated,
                        "largest_true_minus_grid_ms": camera.grid_error_ns / 1e6,
                    }
                    for name, camera in plan.cameras.items()
                },
            )
        )

    def conclude(self) -> None:
        """Draw the warnings that follow from the numbers."""
        for name, camera in self.cameras.items():
            if camera.longest_gop > GOP_LIMIT:
                self.warnings.append(
                    f"{name}: up to {camera.longest_gop} images from one keyframe to the next (over "
                    f"{GOP_LIMIT}): random access decodes them all and gets slow; --reencode makes groups of 2"
                )
            if len(camera.codecs) > 1:
                self.warnings.append(
                    f"{name}: more than one codec ({', '.join(sorted(camera.codecs))}), each in files of its "
                    "own; info.json names that of the first"
                )
            if camera.undecodable:
                self.warnings.append(
                    f"{name}: {camera.undecodable} images do not decode; their rows show another image and "
                    "are invalid"
                )
        held = {name: camera.largest_before_row_ms for name, camera in self.cameras.items()}
        held |= {name: feature.oldest_ms for name, feature in self.features.items()}
        self.warnings += [
            f"{name}: held for up to {oldest / 1e3:.1f} s, its stream paused or ended; --max-age MS marks such "
            "rows"
            for name, oldest in held.items()
            if self.max_age_ms is None and oldest > HELD_LIMIT_MS
        ]
        for name, feature in self.features.items():
            if feature.not_finite:
                self.warnings.append(f"{name}: {feature.not_finite} rows with values that are not finite")
        if self.invalid_rows:
            self.warnings.append(
                f"{self.invalid_rows} of {self.rows} rows are invalid (see invalid_rows of the episodes and "
                "`valid` in twinloop/rows.parquet); LeRobot does not know of it and trains on them"
            )

    def to_json(self) -> dict[str, object]:
        """The account, ready for JSON."""
        return {
            "schema": 1,
            "format": "lerobot v3.0",
            "twinloop": __version__,
            "fps": self.fps,
            "clock": self.clock,
            "align": self.align,
            "max_age_ms": self.max_age_ms,
            "episodes_total": len(self.episodes),
            "rows_total": self.rows,
            "invalid_rows_total": self.invalid_rows,
            "largest_true_minus_grid_ms": self.largest_true_minus_grid_ms,
            "cameras": {
                name: {
                    "remuxed_episodes": camera.remuxed,
                    "reencoded_episodes": camera.reencoded,
                    "reencoded_because": dict(camera.reasons),
                    "codecs": dict(camera.codecs),
                    "longest_gop": camera.longest_gop,
                    "dropped_images": camera.dropped,
                    "duplicated_images": camera.duplicated,
                    "undecodable_images": camera.undecodable,
                    "unreferenced_lead_images": camera.lead_images,
                    "remuxed_but_for_the_first_group": camera.heads,
                    "largest_true_minus_grid_ms": camera.largest_true_minus_grid_ms,
                    "largest_after_row_ms": camera.largest_after_row_ms,
                    "largest_before_row_ms": camera.largest_before_row_ms,
                }
                for name, camera in self.cameras.items()
            },
            "features": {
                name: {
                    "align": feature.align,
                    "mean_age_ms": feature.mean_age_ms,
                    "oldest_ms": feature.oldest_ms,
                    "latest_after_row_ms": feature.latest_after_row_ms,
                    "rows_too_old": feature.too_old,
                    "rows_not_finite": feature.not_finite,
                }
                for name, feature in self.features.items()
            },
            "episodes": [
                {slot: getattr(episode, slot) for slot in EpisodeAccount.__slots__} for episode in self.episodes
            ],
            "left_out": [
                {"session": left.session, "episode": left.episode, "why": left.why} for left in self.left_out
            ],
            "lost": self.lost,
            "warnings": self.warnings,
            "sources": self.sources,
        }


def ranges(marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The runs [start, stop) of True in `marked` (R,)."""
    edges = np.diff(np.concatenate([[0], marked.astype(np.int8), [0]]))
    starts, stops = np.nonzero(edges == 1)[0], np.nonzero(edges == -1)[0]
    return [(int(start), int(stop)) for start, stop in zip(starts, stops, strict=True)]
