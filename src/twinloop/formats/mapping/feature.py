"""Reading a feature: the numbers a mapping asks for, in its order and units, with their times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import MappingError, UnknownNameError, Where
from twinloop.core.kinds import LAYOUTS
from twinloop.core.timeline import timeline_ns
from twinloop.core.units import TO_SI, UNDECLARED
from twinloop.formats.mapping.elements import Picker, picker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from twinloop.core.clock import ClockModel
    from twinloop.core.mapping import Feature
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Batch, Stream


@dataclass(frozen=True, slots=True)
class FeatureSamples:
    """A feature's samples in the file's order.

    Attributes:
        times_ns: (N,) int64 ns on the stream's timeline, as recorded: not sorted, repeats kept.
        values: (N, D) float64 in the feature's unit; NaN where a sample lacks an element.
        names: of the D elements.
    """

    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.times_ns)


def read_feature(
    recording: Recording,
    feature: Feature,
    start_ns: int | None = None,
    end_ns: int | None = None,
    *,
    models: tuple[ClockModel, ...] = (),
) -> FeatureSamples:
    """A feature's samples in [start_ns, end_ns) of its timeline, elements in the order of `feature.names`.

    Args:
        models: clock models to apply to the times; start and end are on the clock that results.

    Raises:
        MappingError: the recording has no such stream, field or names, or the units do not convert.
    """
    return read_features(recording, [feature], start_ns, end_ns, models=models)[feature.name]


def read_features(
    recording: Recording,
    features: Sequence[Feature],
    start_ns: int | None = None,
    end_ns: int | None = None,
    *,
    models: tuple[ClockModel, ...] = (),
) -> dict[str, FeatureSamples]:
    """Several features in one pass over the recording, by name; otherwise as `read_feature`."""
    readings = [_Reading(find_stream(recording, feature), feature, models) for feature in features]
    # Models move the times, so the window is cut after applying them.
    window = {} if models else {"start_ns": start_ns, "end_ns": end_ns}
    for batch in recording.scan({r.stream.name for r in readings}, **window, payload=False):
        for reading in readings:
            if reading.stream.name == batch.stream:
                reading.add(batch, start_ns, end_ns)
    return {reading.feature.name: reading.samples() for reading in readings}


def find_stream(recording: Recording, feature: Feature) -> Stream:
    """The stream that a feature names.

    Raises:
        MappingError: the recording does not have it; near names are in the message.
    """
    try:
        recording.check_names([feature.stream])
    except UnknownNameError as error:
        raise MappingError(
            f"feature {feature.name}: the recording has no stream {feature.stream!r}",
            where=str(recording.path),
            expected=error.expected,
            fix=error.fix,
        ) from None
    return recording.streams[feature.stream]


def scale(stream: Stream, column: str, feature: Feature) -> float:
    """The factor that takes a column's unit to the feature's; 1 where either is undeclared.

    Raises:
        MappingError: both are declared, and one does not convert to the other.
    """
    layout = {item.name.rstrip("?"): item.unit for item in LAYOUTS[stream.kind]}
    source = stream.units.get(column) or layout.get(column, UNDECLARED)
    if UNDECLARED in (source, feature.unit) or source == feature.unit:
        return 1.0
    if source in TO_SI and feature.unit in TO_SI and TO_SI[source][0] == TO_SI[feature.unit][0]:
        return TO_SI[source][1] / TO_SI[feature.unit][1]
    raise MappingError(
        f"feature {feature.name} is in {feature.unit!r}, but {column} of its stream is in {source!r}",
        where=Where(stream=stream.name),
        expected="units that convert into each other",
        fix=f'write unit = "{source}" in the mapping',
    )


class _Reading:
    """One feature while the recording passes by."""

    def __init__(self, stream: Stream, feature: Feature, models: tuple[ClockModel, ...]) -> None:
        self.stream, self.feature, self.models = stream, feature, models
        self.picker: Picker = picker(stream, feature)
        self.times: list[NDArray[np.int64]] = []
        self.values: list[NDArray[np.float64]] = []

    def add(self, batch: Batch, start_ns: int | None, end_ns: int | None) -> None:
        if not len(batch):
            return
        times = timeline_ns(self.stream, batch.columns, self.models)
        values, mine = self.picker.pick(batch.columns)
        if mine is not None:
            times = times[mine]
        if self.models and (start_ns is not None or end_ns is not None):
            inside = (times >= (start_ns if start_ns is not None else times)) & (
                times < end_ns if end_ns is not None else True
            )
            times, values = times[inside], values[inside]
        self.times.append(times)
        self.values.append(values)

    def samples(self) -> FeatureSamples:
        self.picker.finish()
        width = len(self.picker.names)
        values = np.concatenate(self.values) if self.values else np.empty((0, width))
        factors = np.array([scale(self.stream, c, self.feature) for c in self.picker.columns])
        if len(factors) and (factors != 1).any():
            values *= factors
        times = np.concatenate(self.times) if self.times else np.empty(0, np.int64)
        return FeatureSamples(times, values, self.picker.names)
