"""A channel: the messages of one topic of a bag, and how they become a stream."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem, ReadNote
from twinloop.core.stream import Batch, Payload, Stream
from twinloop.core.timeline import in_window, timeline_ns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.formats.messages import Decoded, MessageDecoder

#: A stamp this close to the time of receipt counts from the same epoch, so it orders the stream.
NEAR_NS = 60 * 1_000_000_000
_TEN_YEARS_NS = 10 * 365 * 86_400 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One message, copied out of a bag to learn what its stream is like."""

    data: bytes
    log_ns: int


@dataclass(frozen=True, slots=True)
class Messages:
    """N messages of one channel in one buffer, in the file's order.

    `buffer` (B,) uint8; `offset`, `length` (N,) int64 into it; `log_ns`, `publish_ns`, `sequence` (N,)
    int64, the latter two where the container has them.
    """

    buffer: NDArray[np.uint8]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    log_ns: NDArray[np.int64]
    publish_ns: NDArray[np.int64] | None = None
    sequence: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(slots=True)
class Channel:
    """One topic's messages and their decoder (None: kept raw).

    Attributes:
        stream: what is known of it. seen: messages that the scan at work has met so far.
        misfits: those of them that did not fit their definition; why: what was wrong with the first.
    """

    stream: Stream
    decoder: MessageDecoder | None
    seen: int = 0
    misfits: int = 0
    first_misfit: Where = Where()
    why: str = ""

    def fresh(self) -> Channel:
        """The same channel before its first message, for one scan."""
        return Channel(self.stream, self.decoder)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a bag's index says of one channel."""

    name: str
    type_name: str
    encoding: str
    count: int | None = None
    first: Sample | None = None
    last: Sample | None = None
    start_log_ns: int | None = None
    end_log_ns: int | None = None
    bytes: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


def open_channel(facts: Facts, decoder: MessageDecoder | None) -> Channel:
    """The channel of `facts`; its first and last messages decide which time orders it."""
    stream = Stream(
        name=facts.name,
        kind=Kind.RAW,
        count=facts.count,
        start_ns=facts.start_log_ns,
        end_ns=facts.end_log_ns,
        log_clock=recorder_clock(facts.start_log_ns),
        type_name=facts.type_name,
        encoding=facts.encoding,
        bytes=facts.bytes,
        attributes=dict(facts.attributes),
    )
    if decoder is None:
        return Channel(stream, None)
    peek = decoder.peek(facts.first.data if facts.first else None)
    stream = replace(
        stream,
        kind=peek.kind,
        stamp_source=peek.stamp_source,
        units=peek.units,
        attributes={**facts.attributes, **peek.attributes},
    )
    return Channel(_with_timeline(stream, decoder, facts), decoder)


def _with_timeline(stream: Stream, decoder: MessageDecoder, facts: Facts) -> Stream:
    first = stamp_of(decoder, facts.first) if facts.first else None
    if not first or facts.first is None:
        return stream
    if abs(first - facts.first.log_ns) > NEAR_NS:
        return replace(stream, stamp_clock=Clock(_epoch_of(first, facts.first.log_ns)))
    last = stamp_of(decoder, facts.last) if facts.last else None
    return replace(
        stream,
        timeline="stamp_ns",
        stamp_clock=Clock(stream.log_clock.epoch),
        start_ns=first,
        end_ns=last or facts.end_log_ns,
    )


def recorder_clock(log_ns: int | None) -> Clock:
    """The clock of times of recording. ROS 1 records simulated time where a simulation or a replay sets it."""
    simulated = log_ns is not None and log_ns < _TEN_YEARS_NS
    return Clock(Epoch.SIM if simulated else Epoch.UNIX, "recorder")


def _epoch_of(stamp_ns: int, log_ns: int) -> Epoch:
    """What a stamp far from the time of receipt counts from: small ones from a boot or a simulation.

    One of the same decade is of the same epoch: a latched message keeps the stamp of its first sending.
    """
    if 0 < stamp_ns < _TEN_YEARS_NS < log_ns:
        return Epoch.BOOT
    return Epoch.UNIX if min(stamp_ns, log_ns) > _TEN_YEARS_NS > abs(stamp_ns - log_ns) else Epoch.UNKNOWN


def stamp_of(decoder: MessageDecoder, sample: Sample) -> int | None:
    """The stamp of one message in ns: 0 where it is unset, None where the type has none or it is broken."""
    decoded = decoder.decode(
        np.frombuffer(sample.data, np.uint8), np.zeros(1, np.int64), np.array([len(sample.data)], np.int64)
    )
    stamps = decoded.columns.get("stamp_ns")
    if stamps is None or not len(stamps) or stamps[0].as_py() is None:
        return None
    return int(stamps[0].as_py())


def to_batch(
    channel: Channel,
    messages: Messages,
    *,
    start_ns: int | None = None,
    end_ns: int | None = None,
    payload: bool = True,
    where: Where = Where(),
) -> Batch | None:
    """The rows of `messages` in [start_ns, end_ns) of the stream's timeline; None where there are none.

    `where` says which file, and byte if known, the messages came from.
    """
    import pyarrow as pa

    if not len(messages):
        return None
    first_message = channel.seen
    channel.seen += len(messages)
    columns: dict[str, pa.Array] = {}
    rows: NDArray[np.int64] | None = None
    bulk: Payload | None
    if channel.decoder is None:
        bulk = Payload(messages.buffer, messages.offset, messages.length)
    else:
        decoded = channel.decoder.decode(messages.buffer, messages.offset, messages.length)
        _count_misfits(channel, decoded, messages, where)
        columns, rows, bulk = dict(decoded.columns), decoded.rows, decoded.payload
    log_ns = messages.log_ns if rows is None else messages.log_ns[rows]
    columns["log_ns"] = pa.array(log_ns)
    if messages.publish_ns is not None:
        columns["publish_ns"] = pa.array(messages.publish_ns if rows is None else messages.publish_ns[rows])
    if messages.sequence is not None and "seq" not in columns:
        columns["seq"] = pa.array(messages.sequence if rows is None else messages.sequence[rows])
    if channel.stream.kind is Kind.TRANSFORMS:
        index = np.arange(len(messages), dtype=np.int64) if rows is None else rows
        columns["message"] = pa.array(index + first_message)
    table = pa.RecordBatch.from_pydict(_times_first(columns))
    keep = _within(channel.stream, table, start_ns, end_ns)
    if keep is not None:
        table = table.filter(pa.array(keep))
        if bulk is not None:
            bulk = Payload(bulk.buffer, bulk.offset[keep], bulk.length[keep])
    if not table.num_rows:
        return None
    return Batch(channel.stream.name, table, bulk if payload and channel.stream.has_payload else None)


def _times_first(columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    times = ("stamp_ns", "publish_ns", "log_ns", "seq")
    return {name: columns[name] for name in (*times, *columns) if name in columns}


def _within(
    stream: Stream, table: pa.RecordBatch, start_ns: int | None, end_ns: int | None
) -> NDArray[np.bool_] | None:
    if start_ns is None and end_ns is None:
        return None
    return in_window(timeline_ns(stream, table), start_ns, end_ns)


def _count_misfits(channel: Channel, decoded: Decoded, messages: Messages, where: Where) -> None:
    if decoded.bad is None or not len(decoded.bad):
        return
    if not channel.misfits:
        channel.why = decoded.why
        channel.first_misfit = Where(
            file=where.file,
            stream=channel.stream.name,
            time_ns=int(messages.log_ns[decoded.bad[0]]),
            byte=where.byte,
        )
    channel.misfits += len(decoded.bad)


def misfit_note(channel: Channel) -> ReadNote | None:
    """What to say of the messages that did not fit their definition, if there were any."""
    if not channel.misfits:
        return None
    return ReadNote(
        Problem.UNDECODABLE,
        f"{channel.misfits} of {channel.seen} messages do not fit {channel.stream.type_name}: {channel.why}",
        channel.first_misfit,
        channel.misfits,
    )


def note_once(notes: list[ReadNote], note: ReadNote | None) -> None:
    """Add a note that is not there yet: a second scan sees the same."""
    if note is not None and note not in notes:
        notes.append(note)
