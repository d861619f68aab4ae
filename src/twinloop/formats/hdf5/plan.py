"""What a layout says of a file: its episodes, and how datasets become streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twinloop.core.clock import Clock
from twinloop.core.kinds import Role, StampSource

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from twinloop.core.recording import Attachment
    from twinloop.core.stream import VideoSegment
    from twinloop.formats.hdf5.tree import Tree
    from twinloop.formats.steps.arrays import Array
    from twinloop.formats.steps.decode import Decoder
    from twinloop.formats.steps.stamps import Stamps


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """Times in datasets: nanoseconds are the sum of each times its unit (seconds and nanoseconds apart)."""

    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a stream: time column -> where they are; `timeline` orders it."""

    columns: Mapping[str, TimeColumn]
    timeline: str = "stamp_ns"
    source: StampSource = StampSource.DRIVER
    stamp_clock: Clock = Clock()
    log_clock: Clock = Clock()


@dataclass(frozen=True, slots=True)
class StepStamps:
    """The times (steps,) int64 ns of each episode's steps, what they are, and the dataset they stand in."""

    times_ns: tuple[NDArray[np.int64] | None, ...]
    stamps: Stamps
    source: str


@dataclass(frozen=True, slots=True)
class PlannedStream:
    """One stream; `times` None: those of the steps. `segments`: images in video files, by position."""

    name: str
    decoder: Decoder
    times: Times | None = None
    role: Role | None = None
    rate_hz: float | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    segments: tuple[VideoSegment, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedEpisode:
    """One episode: the group it lies in, and what the file says of it."""

    group: str
    instruction: str | None = None
    outcome: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole file. `rate_hz` as declared; `stamps` of the steps, where the file has them."""

    layout: str
    episodes: tuple[PlannedEpisode, ...]
    streams: tuple[PlannedStream, ...]
    rate_hz: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    stamps: StepStamps | None = None


def path_in(group: str, source: str) -> str:
    """The path of a dataset of an episode."""
    return f"{group}/{source}" if group else source


def sample_of(tree: Tree, episodes: tuple[PlannedEpisode, ...], source: str) -> Array | None:
    """A dataset as the first episode has it that has it."""
    found = (tree.arrays.get(path_in(episode.group, source)) for episode in episodes)
    return next((array for array in found if array is not None), None)
