"""From the channels of a file to streams: names, decoders, spans, rates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, Where
from twinloop.core.recording import Problem
from twinloop.formats.bag.channel import Channel as DecodedChannel
from twinloop.formats.bag.channel import Facts, Sample, open_channel
from twinloop.formats.mcap.contents import Tally
from twinloop.formats.mcap.decoders import NoDecoder, decoder_for
from twinloop.formats.mcap.samples import samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from twinloop.formats.mcap.contents import Contents
    from twinloop.formats.mcap.records import Channel, Schema
    from twinloop.formats.mcap.source import Source
    from twinloop.formats.messages import MessageDecoder
    from twinloop.formats.notes import Notes

#: Channel metadata that declares a rate, in Hz.
_RATE_KEYS = ("rate_hz", "frequency_hz", "rate", "frequency", "fps", "hz")


@dataclass(frozen=True, slots=True)
class Topic:
    """One stream: `channels` are the file's channels of this topic and type, `decoded` what they become."""

    channels: tuple[int, ...]
    decoded: DecodedChannel


def read_topics(source: Source, contents: Contents, types_dir: Path | None, notes: Notes) -> dict[str, Topic]:
    """Stream name -> topic, in the order of the channels' ids."""
    first = samples(source, contents, last=False)
    last = samples(source, contents, last=True)
    topics: dict[str, Topic] = {}
    for group in _grouped(contents):
        channel = group[0]
        schema = contents.schemas.get(channel.schema_id)
        name = _name(channel, schema, topics)
        if name != channel.topic:
            message = f"topic {channel.topic!r} has several types: {_type(schema)} is stream {name!r}"
            notes.add(Problem.SCHEMA, message, Where(str(source.path), stream=name))
        facts = _facts(name, group, schema, contents, first, last)
        try:
            decoder = decoder_for(channel, schema, types_dir)
        except NoDecoder as why:
            notes.add(Problem.SCHEMA, f"kept raw: {why}", Where(str(source.path), stream=name))
            decoder = None
        decoded = _opened(facts, decoder)
        rate = _declared_rate(channel.metadata)
        decoded.stream = replace(decoded.stream, rate_hz=rate)
        topics[name] = Topic(tuple(c.id for c in group), decoded)
    return topics


def _opened(facts: Facts, decoder: MessageDecoder | None) -> DecodedChannel:
    try:
        return open_channel(facts, decoder)
    except TwinloopError:  # the first message does not fit; the scan says so
        return open_channel(replace(facts, first=None, last=None), decoder)


def _grouped(contents: Contents) -> list[list[Channel]]:
    """Channels of the same topic, type and encoding (one publisher each) belong together."""
    groups: dict[tuple[str, str, bytes], list[Channel]] = {}
    for channel in sorted(contents.channels.values(), key=lambda c: c.id):
        schema = contents.schemas.get(channel.schema_id)
        key = (channel.topic, f"{channel.message_encoding} {_type(schema)}", schema.data if schema else b"")
        groups.setdefault(key, []).append(channel)
    return list(groups.values())


def _name(channel: Channel, schema: Schema | None, taken: Iterable[str]) -> str:
    for name in (channel.topic, f"{channel.topic} ({_type(schema)})"):
        if name not in taken:
            return name
    return f"{channel.topic} ({_type(schema)}, channel {channel.id})"


def _type(schema: Schema | None) -> str:
    return schema.name if schema else "no schema"


def _facts(
    name: str,
    group: Sequence[Channel],
    schema: Schema | None,
    contents: Contents,
    first: dict[int, Sample],
    last: dict[int, Sample],
) -> Facts:
    empty = Tally(count=0) if contents.counted else Tally()
    tallies = [contents.tallies.get(channel.id, empty) for channel in group]
    counts = [tally.count for tally in tallies]
    firsts = [first[channel.id] for channel in group if channel.id in first]
    lasts = [last[channel.id] for channel in group if channel.id in last]
    starts = [tally.start_ns for tally in tallies if tally.start_ns is not None]
    ends = [tally.end_ns for tally in tallies if tally.end_ns is not None]
    attributes: dict[str, str] = {} if name == group[0].topic else {"topic": group[0].topic}
    for channel in reversed(group):
        attributes.update(channel.metadata)
    return Facts(
        name=name,
        type_name=schema.name if schema else "",
        encoding=group[0].message_encoding,
        count=None if None in counts else sum(count for count in counts if count is not None),
        first=min(firsts, key=lambda sample: sample.log_ns, default=None),
        last=max(lasts, key=lambda sample: sample.log_ns, default=None),
        start_log_ns=min(starts or [sample.log_ns for sample in firsts], default=None),
        end_log_ns=max(ends or [sample.log_ns for sample in lasts], default=None),
        bytes=_bytes(tallies),
        attributes=attributes,
    )


def _bytes(tallies: Sequence[Tally]) -> int | None:
    sizes = [tally.bytes for tally in tallies if tally.count != 0]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _declared_rate(metadata: dict[str, str]) -> float | None:
    for key in _RATE_KEYS:
        try:
            rate = float(metadata[key])
        except (KeyError, ValueError):
            continue
        if math.isfinite(rate) and rate > 0:
            return rate
    return None
