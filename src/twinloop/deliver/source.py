"""What an export takes in: sessions, what their streams mean, and their episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind, StampSource
from twinloop.core.session import SessionFacts
from twinloop.formats.mapping.elements import NO_MATRIX
from twinloop.formats.video.pixels import is_deep_gray

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from twinloop.core.clock import ClockModel
    from twinloop.core.mapping import Feature, Mapping
    from twinloop.core.recording import Recording
    from twinloop.core.session import Episode
    from twinloop.core.stream import Stream

CAMERA_KINDS = frozenset({Kind.IMAGE, Kind.DEPTH})


def is_unrated(stream: Stream) -> bool:
    """Whether the stamps of a stream are the numbers of its steps, as if these were a second apart."""
    return stream.stamp_source is StampSource.GRID and stream.rate_hz is None


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

    def unrated_features(self) -> tuple[Feature, ...]:
        """Those whose source counts steps and says neither when they were nor how many a second there are."""
        exported = (*self.number_features(), *self.camera_features())
        return tuple(f for f in exported if is_unrated(self.recording.streams[f.stream]))

    def homeless_features(self) -> tuple[Feature, ...]:
        """Those that rows have no place for: texts, point clouds, sound, depth in floats."""
        at_home = {feature.name for feature in (*self.number_features(), *self.camera_features())}
        return tuple(f for f in self.features() if f.name not in at_home)

    def _is_deep(self, feature: Feature) -> bool:
        segments = self.recording.streams[feature.stream].segments
        return bool(segments) and all(is_deep_gray(segment.pix_fmt) for segment in segments)

    def kind(self, feature: Feature) -> Kind:
        """The kind of a feature's stream."""
        return self.recording.streams[feature.stream].kind
