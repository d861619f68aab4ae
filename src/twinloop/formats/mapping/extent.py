"""The time span of a recording, and the streams and times that a cut needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import MappingError, UnknownNameError
from twinloop.core.kinds import TIME_COLUMNS
from twinloop.core.timeline import timeline_ns

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from twinloop.core.mapping import Cut, Mapping
    from twinloop.core.recording import Recording


def extent(recording: Recording, mapping: Mapping) -> tuple[int, int] | None:
    """First and last time of the streams that features name (of all streams, where none is named).

    From the index where it knows, else by reading the times. None: there is not one sample.
    """
    names = {f.stream for f in mapping.features if f.stream in recording.streams} or set(recording.streams)
    known = [recording.streams[name] for name in sorted(names)]
    edges = [t for s in known for t in (s.start_ns, s.end_ns) if t is not None]
    unknown = [s.name for s in known if (s.start_ns is None or s.end_ns is None) and s.count != 0]
    if unknown:
        for times in stream_times(recording, unknown):
            edges += [int(times.min()), int(times.max())]
    return (min(edges), max(edges)) if edges else None


def require_stream(recording: Recording, name: str | None, cut: Cut) -> str:
    """The name, if it is a stream of the recording; MappingError otherwise."""
    if name is None:
        raise MappingError(
            f"[episodes] cuts by {cut.value} but names no stream",
            where=str(recording.path),
            fix='add stream = "..." to [episodes]',
        )
    try:
        recording.check_names([name])
    except UnknownNameError as error:
        raise MappingError(
            f"[episodes]: the recording has no stream {name!r}",
            where=str(recording.path),
            expected=error.expected,
            fix=error.fix,
        ) from None
    return name


def stream_times(recording: Recording, names: list[str]) -> Iterator[NDArray[np.int64]]:
    """The times of the streams' samples, batch by batch, none empty; streams without times have none."""
    for batch in recording.scan_times(names):
        if len(batch) and set(TIME_COLUMNS).intersection(batch.columns.schema.names):
            yield timeline_ns(recording.streams[batch.stream], batch.columns)
