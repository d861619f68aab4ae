"""One episode of a dataset: how long, of which task, in which files, and where its times begin."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from twinloop.core.clock import NS_PER_S
from twinloop.core.recording import EpisodeSpan

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


#: A number of rows or episodes from here on is damage: a year at 30 Hz.
_TOO_MANY = 10**9

#: The feature that is true in the last row of a success.
SUCCESS = "next.success"


def believable(count: object) -> bool:
    """Whether a declared number of rows, or of an episode, can be meant."""
    return isinstance(count, int) and not isinstance(count, bool) and 0 <= count < _TOO_MANY


@dataclass(frozen=True, slots=True)
class VideoPlace:
    """Where an episode's images of one camera lie: from `start_s` to `end_s` (None: the end) of `file`."""

    file: Path | None
    start_s: float = 0.0
    end_s: float | None = None


@dataclass(frozen=True, slots=True)
class EpisodeEntry:
    """One episode. `base_ns` is where its times begin; `data` None: its parquet file is not there; `times_ns`
    (length,) int64: the times of its rows, where something beside the dataset tells them."""

    index: int
    length: int
    tasks: tuple[str, ...] = ()
    data: Path | None = None
    videos: Mapping[str, VideoPlace] = field(default_factory=dict)
    base_ns: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)
    outcome: str | None = None
    times_ns: NDArray[np.int64] | None = None

    def end_ns(self, fps: float) -> int:
        """Where its times end: behind its last row."""
        if self.times_ns is not None:
            return int(self.times_ns[-1]) + 1
        return self.base_ns + round(self.length / fps * NS_PER_S)

    def span(self, fps: float) -> EpisodeSpan:
        """The episode on the streams' timeline."""
        attributes = dict(self.attributes)
        if len(self.tasks) > 1:
            attributes["tasks"] = json.dumps(list(self.tasks))
        return EpisodeSpan(
            index=self.index,
            start_ns=self.base_ns,
            end_ns=self.end_ns(fps),
            instruction=self.tasks[0] if self.tasks else None,
            outcome=self.outcome,
            attributes=attributes,
        )


def outcome_of(largest: object) -> str | None:
    """The outcome of an episode by the largest value of `SUCCESS` in its statistics; None: none is there."""
    value = largest[0] if isinstance(largest, list) and len(largest) == 1 else largest
    if not isinstance(value, bool | int | float):
        return None
    return "success" if value else "failure"


def with_bases(episodes: list[EpisodeEntry], fps: float) -> list[EpisodeEntry]:
    """The episodes one after another: each base is the running sum of ceil(length/fps) seconds."""
    placed, base_s = [], 0
    for episode in episodes:
        placed.append(replace(episode, base_ns=base_s * NS_PER_S))
        base_s += max(1, math.ceil(episode.length / fps))
    return placed
