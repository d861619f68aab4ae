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
    from twinloop.deliver.plan import EpisodePlan, LeftOut

#: A sample that rows hold for longer is warned of where --max-age does not say what is too long.
HELD_LIMIT_MS = 1000.0


@dataclass(slots=True)
class CameraAccount:
    """What happened to one camera's images in all episodes. Times in ms.

    Attributes:
        reasons: why images could not be taken over byte by byte, each with how often.
        dropped, duplicated: images that no row shows; rows that show the image before again.
        largest_after_row_ms, largest_before_row_ms: how far an image lies from the time of its row.
    """

    reasons: Counter[str] = field(default_factory=Counter)
    dropped: int = 0
    duplicated: int = 0
    undecodable: int = 0
    largest_after_row_ms: float = 0.0
    largest_before_row_ms: float = 0.0

    def add_rows(
        self, shown: NDArray[np.int64], times_ns: NDArray[np.int64], row_ns: NDArray[np.int64]
    ) -> None:
        """Count the images at places `shown` (R,) of `times_ns` in an episode's rows (R,)."""
        if not len(shown):
            return
        off_ns = times_ns[shown] - row_ns
        self.dropped += int(shown[-1] - shown[0] + 1 - len(np.unique(shown)))
        self.duplicated += int((np.diff(shown) == 0).sum())
        self.largest_after_row_ms = max(self.largest_after_row_ms, float(off_ns.max()) / 1e6)
        self.largest_before_row_ms = max(self.largest_before_row_ms, float(-off_ns.min()) / 1e6)

    def summary(self) -> str:
        """What was done, in a few words."""
        return f"{self.dropped} dropped, {self.duplicated} duplicated"

    def because(self) -> str:
        """The reasons, most frequent first, each with how often."""
        return ", ".join(f"{reason} ({count})" for reason, count in self.reasons.most_common())

    def warnings(self, name: str) -> list[str]:
        """What follows from the numbers."""
        if not self.undecodable:
            return []
        return [
            f"{name}: {self.undecodable} images do not decode; their rows show another image and are invalid"
        ]

    def cells(self) -> dict[str, str]:
        """Heading -> cell of its line in the account's table of cameras."""
        return {
            "before its row": f"{self.largest_before_row_ms:.3f} ms",
            "after its row": f"{self.largest_after_row_ms:.3f} ms",
            "dropped": str(self.dropped),
            "duplicated": str(self.duplicated),
        }

    def remarks(self, name: str) -> list[str]:  # noqa: ARG002  (the bare numbers need none)
        """Sentences below the table of cameras."""
        return []

    def to_json(self) -> dict[str, object]:
        """The numbers, ready for JSON."""
        return {
            "dropped_images": self.dropped,
            "duplicated_images": self.duplicated,
            "undecodable_images": self.undecodable,
            "largest_after_row_ms": self.largest_after_row_ms,
            "largest_before_row_ms": self.largest_before_row_ms,
        }


@dataclass(slots=True)
class ImageAccount(CameraAccount):
    """Images that stand by themselves: `copied` are the recording's own bytes; `encoded` were decoded and
    written in another form."""

    copied: int = 0
    encoded: int = 0

    def summary(self) -> str:
        """What was done, in a few words."""
        because = f" because of {self.because()}" if self.reasons else ""
        return f"{self.copied} images with their own bytes, {self.encoded} encoded anew{because}"

    def cells(self) -> dict[str, str]:
        """Heading -> cell."""
        return {
            "own bytes": str(self.copied),
            "encoded anew": str(self.encoded),
            "because of": self.because() or "-",
            **CameraAccount.cells(self),
        }

    def to_json(self) -> dict[str, object]:
        """The numbers, ready for JSON."""
        return {
            "copied_images": self.copied,
            "encoded_images": self.encoded,
            "encoded_because": dict(self.reasons),
            **CameraAccount.to_json(self),
        }


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
    """All of it. `to_json` is what ``account.json`` holds.

    Attributes:
        format: what is written, as the account names it. trainers: who reads it, in a sentence.
        grid: whether the format has no times but row / fps.
    """

    format: str
    fps: int
    clock: str
    align: str
    max_age_ms: float | None
    trainers: str = "trainers"
    grid: bool = True
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
                cameras=plan.camera_facts(),
            )
        )

    def conclude(self) -> None:
        """Draw the warnings that follow from the numbers."""
        for name, camera in self.cameras.items():
            self.warnings += camera.warnings(name)
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
                f"`valid` in twinloop/rows.parquet); {self.trainers} do not know of it and train on them"
            )

    def to_json(self) -> dict[str, object]:
        """The account, ready for JSON."""
        return {
            "schema": 1,
            "format": self.format,
            "twinloop": __version__,
            "fps": self.fps,
            "clock": self.clock,
            "align": self.align,
            "max_age_ms": self.max_age_ms,
            "episodes_total": len(self.episodes),
            "rows_total": self.rows,
            "invalid_rows_total": self.invalid_rows,
            "largest_true_minus_grid_ms": self.largest_true_minus_grid_ms,
            "cameras": {name: camera.to_json() for name, camera in self.cameras.items()},
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
