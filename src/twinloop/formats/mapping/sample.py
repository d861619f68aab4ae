"""The first seconds of a stream: enough to see its columns and names, whatever the recording's size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import MappingError
from twinloop.core.kinds import Role
from twinloop.core.mapping import Feature
from twinloop.core.timeline import timeline_ns
from twinloop.formats.mapping.elements import picker

if TYPE_CHECKING:
    import pyarrow as pa

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream


def first_batches(recording: Recording, name: str, seconds: float) -> list[pa.RecordBatch]:
    """The columns of a stream's samples in its first `seconds`; empty where it has no sample."""
    stream = recording.streams[name]
    if stream.count == 0:
        return []
    span_ns = round(seconds * 1e9)
    end_ns = None if stream.start_ns is None else stream.start_ns + span_ns
    batches: list[pa.RecordBatch] = []
    for batch in recording.scan([name], start_ns=stream.start_ns, end_ns=end_ns, payload=False):
        if not len(batch):
            continue
        batches.append(batch.columns)
        first = timeline_ns(stream, batches[0])[0]
        if timeline_ns(stream, batch.columns)[-1] - first >= span_ns:
            break
    return batches


def first_names(recording: Recording, stream: Stream, field: str | None) -> tuple[str, ...]:
    """The names of the elements that a feature of this stream and field would have; none where it has none."""
    feature = Feature(stream.name, stream.name, Role.OBSERVATION, field)
    try:
        elements = picker(stream, feature)
        for batch in first_batches(recording, stream.name, 1.0)[:1]:
            elements.pick(batch)
    except MappingError:
        return ()
    return elements.names
