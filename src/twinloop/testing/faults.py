"""Defects to plant in a synthetic session, each known by where it is. They compose: each takes the tracks as
the ones before it left them.

Times `start_s`, `at_s` count from the session's start. A stream is named by its topic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from twinloop.core.errors import UnknownNameError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.testing.track import Track


@dataclass(frozen=True, slots=True)
class Planted:
    """A defect that is in the recording.

    Attributes:
        fault: the injector's class name. stream: the topic, None for the file as a whole.
        start_ns, end_ns: between the sound samples around it, on the stream's stamps.
        value, unit: how much of it, as the injector's documentation says.
        element: the joint. byte: where in the file.
    """

    fault: str
    stream: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    value: float | None = None
    unit: str = ""
    element: str | None = None
    byte: int | None = None


@runtime_checkable
class Fault(Protocol):
    """A defect of the samples."""

    def plant(self, tracks: dict[str, Track]) -> Planted:
        """Change `tracks` (topic -> Track) in place and say what is wrong with them now."""


@dataclass(frozen=True, slots=True)
class DroppedSamples:
    """A run of samples or images is missing. Value: how many."""

    stream: str
    start_s: float
    duration_s: float

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.start_s, self.duration_s)
        tracks[self.stream] = track.keep(~np.isin(np.arange(len(track)), rows))
        return _planted(self, track, rows, len(rows), "1", around=True)


@dataclass(frozen=True, slots=True)
class FrozenImages:
    """A camera sends the same image again and again. Value: how many repeats."""

    stream: str
    start_s: float
    duration_s: float

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.start_s, self.duration_s)
        content = track.values["content_s"].copy()
        content[rows] = content[rows[0]]
        tracks[self.stream] = track.with_values(content_s=content)
        return _planted(self, track, rows, len(rows) - 1, "1")


@dataclass(frozen=True, slots=True)
class ClockDrift:
    """The stamps' clock runs fast (or slow, if negative) against the recorder's. Value: ppm."""

    stream: str
    ppm: float

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        since = track.stamp_ns - track.stamp_ns[0]
        drifted = track.stamp_ns + np.rint(since * self.ppm * 1e-6).astype(np.int64)
        tracks[self.stream] = track.stamped(drifted)
        return _planted(self, tracks[self.stream], np.arange(len(track)), self.ppm, "ppm")


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The stamps' clock is set by `step_ms` at one moment. Value: ms."""

    stream: str
    at_s: float
    step_ms: float

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.at_s, np.inf)
        stamps = track.stamp_ns.copy()
        stamps[rows] += round(self.step_ms * 1e6)
        tracks[self.stream] = track.stamped(stamps)
        return _planted(self, track, rows[:1], self.step_ms, "ms", around=True)


@dataclass(frozen=True, slots=True)
class LateStart:
    """A stream starts late. Value: seconds."""

    stream: str
    seconds: float

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, -1.0, 1.0 + self.seconds)
        tracks[self.stream] = track.keep(track.true_s >= self.seconds)
        return _planted(self, track, rows, self.seconds, "s")


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """A stream ends early. Value: seconds."""

    stream: str
    seconds: float

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        last = float(track.true_s[-1]) - self.seconds
        tracks[self.stream] = track.keep(track.true_s <= last)
        return _planted(self, track, np.flatnonzero(track.true_s > last), self.seconds, "s")


@dataclass(frozen=True, slots=True)
class JointStuck:
    """A joint reports exactly the same position, and no velocity, for a while. Value: seconds."""

    stream: str
    joint: str
    start_s: float = -1.0
    duration_s: float = np.inf

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.start_s, self.duration_s)
        joint = _joint(track, self.joint)
        position, velocity = track.values["position"].copy(), track.values["velocity"].copy()
        position[rows, joint] = position[rows[0], joint]
        velocity[rows, joint] = 0.0
        tracks[self.stream] = track.with_values(position=position, velocity=velocity)
        seconds = float(track.true_s[rows[-1]] - track.true_s[rows[0]])
        return replace(_planted(self, track, rows, seconds, "s"), element=self.joint)


@dataclass(frozen=True, slots=True)
class NanBurst:
    """A joint's position is not a number for some samples. Value: how many."""

    stream: str
    joint: str
    start_s: float
    samples: int = 5

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.start_s, np.inf)[: self.samples]
        position = track.values["position"].copy()
        position[rows, _joint(track, self.joint)] = np.nan
        tracks[self.stream] = track.with_values(position=position)
        return replace(_planted(self, track, rows, len(rows), "1"), element=self.joint)


@dataclass(frozen=True, slots=True)
class Spike:
    """One sample of a joint's position is off by `size_rad`. Value: rad."""

    stream: str
    joint: str
    at_s: float
    size_rad: float = 1.0

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.at_s, np.inf)[:1]
        position = track.values["position"].copy()
        position[rows, _joint(track, self.joint)] += self.size_rad
        tracks[self.stream] = track.with_values(position=position)
        return replace(_planted(self, track, rows, self.size_rad, "rad"), element=self.joint)


@dataclass(frozen=True, slots=True)
class ReorderedStamps:
    """The stamps of some samples in a row stand in reverse order. Value: how many."""

    stream: str
    at_s: float
    samples: int = 4

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.at_s, np.inf)[: self.samples]
        stamps = track.stamp_ns.copy()
        stamps[rows] = stamps[rows[::-1]]
        tracks[self.stream] = track.stamped(stamps)
        return _planted(self, track, rows, len(rows), "1")


@dataclass(frozen=True, slots=True)
class RepeatedStamps:
    """Some samples in a row carry the stamp of the first of them. Value: how many repeats."""

    stream: str
    at_s: float
    samples: int = 4

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.at_s, np.inf)[: self.samples]
        stamps = track.stamp_ns.copy()
        stamps[rows] = stamps[rows[0]]
        tracks[self.stream] = track.stamped(stamps)
        return _planted(self, track, rows, len(rows) - 1, "1")


@dataclass(frozen=True, slots=True)
class ZeroStamps:
    """Some samples carry no stamp: zero stands there. Value: how many."""

    stream: str
    start_s: float = -1.0
    duration_s: float = np.inf

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.start_s, self.duration_s)
        stamps = track.stamp_ns.copy()
        stamps[rows] = 0
        tracks[self.stream] = track.stamped(stamps)
        return _planted(self, track, rows, len(rows), "1")


@dataclass(frozen=True, slots=True)
class Jitter:
    """Samples are taken at irregular times: normal, of standard deviation `std_ms`. Value: ms.

    The stamps are true; they say when the samples were taken. Order is kept.
    """

    stream: str
    std_ms: float
    seed: int = 0

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        moved = np.random.default_rng(self.seed).normal(0, self.std_ms * 1e6, len(track))
        stamps = np.sort(track.stamp_ns + np.rint(moved).astype(np.int64))
        late = track.log_ns - track.stamp_ns
        logs = np.maximum.accumulate(stamps + late)
        tracks[self.stream] = replace(track, stamp_ns=stamps, log_ns=logs)
        return _planted(self, track, np.arange(len(track)), self.std_ms, "ms")


@dataclass(frozen=True, slots=True)
class Lag:
    """What the samples say is old: stamps and log times are later than the truth. Value: ms."""

    stream: str
    ms: float

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        shift = round(self.ms * 1e6)
        tracks[self.stream] = replace(track, stamp_ns=track.stamp_ns + shift, log_ns=track.log_ns + shift)
        return _planted(self, tracks[self.stream], np.arange(len(track)), self.ms, "ms")


@dataclass(frozen=True, slots=True)
class LogStall:
    """The recorder gets nothing for a while, then all at once; the stamps are sound. Value: ms."""

    stream: str
    start_s: float
    duration_s: float

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rows = _rows(track, self.start_s, self.duration_s)
        logs = track.log_ns.copy()
        logs[rows] = logs[rows[-1]] + np.arange(len(rows)) * 20_000
        tracks[self.stream] = replace(track, log_ns=np.maximum.accumulate(logs))
        return _planted(self, track, rows, self.duration_s * 1e3, "ms")


@dataclass(frozen=True, slots=True)
class LowRate:
    """Only every `keep_every`-th sample is there. Value: the rate that is left, in Hz."""

    stream: str
    keep_every: int = 2

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        tracks[self.stream] = track.keep(np.arange(0, len(track), self.keep_every))
        return _planted(self, track, np.arange(len(track)), track.rate_hz / self.keep_every, "Hz")


@dataclass(frozen=True, slots=True)
class ShuffledJoints:
    """No defect but a trap: the order of the joints changes from sample to sample. Value: how many orders."""

    stream: str
    orders: int = 3
    seed: int = 0

    def plant(self, tracks: dict[str, Track]) -> Planted:
        track = _find(tracks, self.stream)
        rng = np.random.default_rng(self.seed)
        turns = np.array([rng.permutation(len(track.names)) for _ in range(self.orders)])
        tracks[self.stream] = track.with_values(order=turns[rng.integers(0, self.orders, len(track))])
        return _planted(self, track, np.arange(len(track)), self.orders, "1")


def _find(tracks: dict[str, Track], stream: str) -> Track:
    if stream not in tracks:
        raise UnknownNameError("stream", stream, tracks)
    return tracks[stream]


def _joint(track: Track, joint: str) -> int:
    if joint not in track.names:
        raise UnknownNameError("joint", joint, track.names)
    return track.names.index(joint)


def _rows(track: Track, start_s: float, duration_s: float) -> NDArray[np.int64]:
    """The rows taken in [start_s, start_s + duration_s).

    Raises:
        UnknownNameError: there are none, so that a defect is never planted without effect.
    """
    rows = np.flatnonzero((track.true_s >= start_s) & (track.true_s < start_s + duration_s))
    if not len(rows):
        span = f"{track.true_s[0]:.3f} to {track.true_s[-1]:.3f} s" if len(track) else "no samples"
        raise UnknownNameError(f"sample of {track.topic} (which has {span})", f"{start_s} s", ())
    return rows


def _planted(
    fault: Fault, track: Track, rows: NDArray[np.int64], value: float, unit: str, *, around: bool = False
) -> Planted:
    """What was planted in `rows`; `around`: from the sample before to the sample after."""
    first, last = int(rows[0]), int(rows[-1])
    if around:
        first, last = max(first - 1, 0), min(last + 1, len(track) - 1)
    return Planted(
        type(fault).__name__,
        track.topic,
        int(track.stamp_ns[first]),
        int(track.stamp_ns[last]),
        float(value),
        unit,
    )
