"""The episodes of a dataset, found by hopping through its files."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.rlds.example import BYTES, BrokenExampleError, byte_places, example_fields, integers
from twinloop.formats.rlds.tfrecord import InflatedBytes, frames, open_bytes
from twinloop.formats.rlds.values import LENGTHS, numbers
from twinloop.formats.steps.times import TIMESTAMP_NS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.rlds.example import Field
    from twinloop.formats.rlds.features import Leaf
    from twinloop.formats.rlds.shards import Shard
    from twinloop.formats.rlds.tfrecord import Frame

#: An episode's own values of more numbers than this are a stream, not an attribute.
FEW = 64
#: Where TFDS keeps what is said of an episode.
METADATA = "episode_metadata"
_TEXT_BYTES = 1 << 16
_INSTRUCTION = re.compile(r"(^|_)(instruction|instructions|language|task|prompt|goal)(_1)?$")


@dataclass(frozen=True, slots=True)
class Episode:
    """One record: where it lies, how many steps it has, which keys, and what it says of itself; `times_ns`
    (steps,) int64, where it has the times of its steps."""

    file: Path
    frame: Frame
    split: str
    record: int
    steps: int
    keys: frozenset[str]
    instruction: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    times_ns: NDArray[np.int64] | None = None

    @property
    def outcome(self) -> str | None:
        """How it ended, where its own values say so."""
        said = self.facts.get(f"{METADATA}/outcome")
        return said if isinstance(said, str) and said else None


def find_episodes(shards: Sequence[Shard], leaves: Sequence[Leaf], notes: Notes) -> list[Episode]:
    """The episodes of all files in order; records that are no Example are noted."""
    known: dict[frozenset[str], frozenset[str]] = {}
    return [episode for shard in shards for episode in _of_shard(shard, leaves, known, notes)]


def _of_shard(
    shard: Shard, leaves: Sequence[Leaf], known: dict[frozenset[str], frozenset[str]], notes: Notes
) -> Iterator[Episode]:
    try:
        data = open_bytes(shard.path)
    except OSError as error:
        notes.add(
            Problem.CORRUPT, f"the system refuses to read it: {error.strerror}", Where(str(shard.path)), None
        )
        return
    count = 0
    try:
        for number, frame in enumerate(frames(data, shard.path, notes)):
            count = number + 1
            where = Where(file=str(shard.path), byte=frame.start)
            read = _whole(data, frame) if isinstance(data, InflatedBytes) else _within(data.read, frame)
            try:
                fields = example_fields(read, frame.length)
                steps = _steps(leaves, fields, read)
                instruction, facts = _said(leaves, fields, read)
                times = _times(leaves, fields, read)
            except (BrokenExampleError, IndexError) as error:
                notes.add(Problem.UNDECODABLE, f"record {number} is no Example: {error}", where, None)
                continue
            keys = frozenset(fields)
            yield Episode(
                shard.path,
                frame,
                shard.split,
                number,
                steps,
                known.setdefault(keys, keys),
                instruction,
                {name: _text(value) for name, value in facts.items()},
                facts,
                times,
            )
    finally:
        data.close()
    if shard.records is not None and count != shard.records:
        notes.add(
            Problem.COUNT,
            f"dataset_info.json says {shard.records} records, {count} are found",
            Where(file=str(shard.path)),
            None if count < shard.records else 0,
        )


def _within(read: Callable[[int, int], bytes], frame: Frame) -> Callable[[int, int], bytes]:
    return lambda at, size: read(frame.start + at, size)


def _whole(data: InflatedBytes, frame: Frame) -> Callable[[int, int], bytes]:
    """Parts of a record that was unpacked whole: packed bytes are read forwards only."""
    record = data.read(frame.start, frame.length)
    return lambda at, size: record[at : at + size]


def _steps(leaves: Sequence[Leaf], fields: Mapping[str, Field], read: Callable[[int, int], bytes]) -> int:
    """The steps of an episode, by the smallest of its features that tells."""

    def cost(leaf: Leaf) -> tuple[bool, int]:
        return leaf.form != "number" or leaf.encoding != "none", leaf.size or 0

    for leaf in sorted((leaf for leaf in leaves if leaf.per_step), key=cost):
        ragged = f"{leaf.key}/{LENGTHS}"
        if leaf.ranks and ragged in fields:
            place = fields[ragged]
            return len(integers(read(place.start, place.end - place.start)))
        if leaf.ranks or leaf.key not in fields or not (leaf.size or leaf.form != "number"):
            continue
        place = fields[leaf.key]
        wire = read(place.start, place.end - place.start)
        if place.form == BYTES:
            return len(byte_places(wire, 0, len(wire))[0])
        flat, size = len(numbers(wire, place, "")), leaf.size or 1
        if flat % size:
            raise BrokenExampleError(f"{leaf.key} has {flat} values, {size} a step")
        return flat // size
    return 0


def is_time(leaf: Leaf) -> bool:
    """Whether a feature is the time of each step, in ns."""
    named = leaf.path.rsplit("/", 1)[-1] == TIMESTAMP_NS
    return named and leaf.per_step and leaf.form == "number" and leaf.dtype == "int64" and leaf.size == 1


def _times(
    leaves: Sequence[Leaf], fields: Mapping[str, Field], read: Callable[[int, int], bytes]
) -> NDArray[np.int64] | None:
    """The times of the steps, by the first of the features that are times."""
    for leaf in leaves:
        if is_time(leaf) and leaf.encoding == "none" and (place := fields.get(leaf.key)) is not None:
            return numbers(read(place.start, place.end - place.start), place, leaf.dtype)
    return None


def _said(
    leaves: Sequence[Leaf], fields: Mapping[str, Field], read: Callable[[int, int], bytes]
) -> tuple[str | None, dict[str, object]]:
    """The instruction, and the episode's own values that are few enough to be attributes."""
    instruction = None
    facts: dict[str, object] = {}
    for leaf in leaves:
        place = fields.get(leaf.key)
        if place is None or leaf.ranks:
            continue
        if leaf.form == "text" and (not leaf.per_step or _INSTRUCTION.search(leaf.key.rsplit("/", 1)[-1])):
            text = _first_text(read(place.start, min(place.end - place.start, _TEXT_BYTES)))
            if not leaf.per_step and text is not None:
                facts[leaf.key] = text
            if not instruction and text and _INSTRUCTION.search(leaf.key.rsplit("/", 1)[-1]):
                instruction = text
        elif is_fact(leaf) and place.form != BYTES:
            values = numbers(read(place.start, place.end - place.start), place, leaf.dtype).tolist()
            facts[leaf.key] = values[0] if len(values) == 1 else values[:FEW]
    return instruction, facts


def is_fact(leaf: Leaf) -> bool:
    """Whether a feature is an attribute of the episode: its own, and few numbers or a text."""
    if leaf.per_step or leaf.ranks or leaf.encoding != "none":
        return False
    return leaf.form == "text" or (leaf.form == "number" and leaf.size is not None and leaf.size <= FEW)


def _first_text(wire: bytes) -> str | None:
    """The first text of a BytesList of which the beginning is given."""
    if wire[:1] != b"\x0a":
        return None
    size, at, shift = 0, 1, 0
    while at < min(len(wire), 11):
        size |= (wire[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if wire[at - 1] < 0x80:
            break
    return wire[at : at + size].decode("utf-8", "replace")


def _text(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str) else json.dumps(value)
