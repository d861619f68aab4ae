"""What an export takes in, and what a user chooses about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.errors import UsageError
from twinloop.core.kinds import Kind
from twinloop.core.session import SessionFacts
from twinloop.deliver.align import Align
from twinloop.formats.mapping.elements import NO_MATRIX
from twinloop.formats.video.pixels import is_deep_gray

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from twinloop.core.clock import ClockModel
    from twinloop.core.mapping import Feature, Mapping
    from twinloop.core.recording import Recording
    from twinloop.core.session import Episode
    from twinloop.deliver.rows import RowClock

CAMERA_KINDS = frozenset({Kind.IMAGE, Kind.DEPTH})


@dataclass(frozen=True, slots=True)
class ExportSource:
    """One session: a recording whose images lie in video files, what its streams mean, its episodes.

    Attributes:
        session: its id, or any name that tells it from the others.
        models: clock models to apply to its times. recordings: hashes of its source files, for the account.
        image_stats: gives a stream's histograms of sampled images where a store has them (columns `time_ns`,
            `histogram`: 256 counts each of red, green and blue).
    """

    session: str
    recording: Recording
    mapping: Mapping
    episodes: tuple[Episode, ...]
    facts: SessionFacts = SessionFacts()
    models: tuple[ClockModel, ...] = ()
    recordings: tuple[str, ...] = ()
    image_stats: Callable[[str], pa.Table] | None = None

    def features(self) -> tuple[Feature, ...]:
        """The mapped features of streams that are there."""
        return tuple(f for f in self.mapping.features if f.stream in self.recording.streams)

    def number_features(self) -> tuple[Feature, ...]:
        """Those that read as numbers."""
        return tuple(f for f in self.features() if self.kind(f) not in NO_MATRIX)

    def camera_features(self) -> tuple[Feature, ...]:
        """Those that are images, and depth that lies in video files bit by bit."""
        return tuple(
            f
            for f in self.features()
            if self.kind(f) is Kind.IMAGE or (self.kind(f) is Kind.DEPTH and self._is_deep(f))
        )

    def homeless_features(self) -> tuple[Feature, ...]:
        """Those that LeRobot has no place for: texts, point clouds, sound, depth in floats."""
        at_home = {feature.name for feature in (*self.number_features(), *self.camera_features())}
        return tuple(f for f in self.features() if f.name not in at_home)

    def _is_deep(self, feature: Feature) -> bool:
        segments = self.recording.streams[feature.stream].segments
        return bool(segments) and all(is_deep_gray(segment.pix_fmt) for segment in segments)

    def kind(self, feature: Feature) -> Kind:
        """The kind of a feature's stream."""
        return self.recording.streams[feature.stream].kind


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """How rows are made and what is written.

    Attributes:
        clock: what the rows are. align: which samples observations take (actions hold, always).
        max_age_ms: rows with an older sample are marked invalid; None: none is.
        keep_gaps: fill gaps with rows that show the image before again, instead of splitting there.
        keep_mjpeg: MJPEG may be remuxed. causal: no image after its row, not by half a period either.
        keep_lead: images before a cut off a keyframe may stay in the file, unreferenced; else they are
            re-encoded up to the next keyframe (H.264), or all of the episode is.
        reencode: never remux. codec: of what is re-encoded; None: that of the camera's remuxed episodes,
            else h264. gop, crf: of what is re-encoded.
        task: the task of episodes without an instruction.
        include_excluded: take episodes that were excluded, too.
    """

    clock: RowClock
    align: Align = Align.LATEST
    max_age_ms: float | None = None
    keep_gaps: bool = False
    keep_mjpeg: bool = False
    causal: bool = False
    keep_lead: bool = True
    reencode: bool = False
    codec: str | None = None
    gop: int = 2
    crf: int | None = None
    task: str | None = None
    include_excluded: bool = False

    def __post_init__(self) -> None:
        if self.max_age_ms is not None and not self.max_age_ms >= 0:
            raise UsageError(
                f"no sample is younger than {self.max_age_ms:g} ms", expected="--max-age of 0 ms or more"
            )

    @property
    def max_age_ns(self) -> float:
        """The oldest a sample may be, in ns."""
        return float("inf") if self.max_age_ms is None else self.max_age_ms * 1e6
