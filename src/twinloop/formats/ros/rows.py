"""The values of N decoded messages, node by node, before they become columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.ros.definitions import Moment, Primitive
from twinloop.formats.ros.gather import gather, gather_pieces, spread
from twinloop.formats.ros.plan import Blob, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.ros.plan import Leaf, Plan
    from twinloop.formats.ros.vocabulary import Vocabulary
    from twinloop.formats.ros.walk import Walk

NS_PER_S = 1_000_000_000


@dataclass(slots=True)
class Rows:
    """Values of the messages `message` (N,) int64, ascending.

    Attributes:
        buffer: the bytes that the messages lie in.
        vocabularies: what the codes of each string node stand for.
        offsets: for each level but 0, (parents + 1,) int32: where each parent's elements start and stop.
        runs: for each run node, (elements of its level, count) unsigned integers of its item size, native.
        codes: for each string node, (elements,) int32 numbers in the node's vocabulary.
        blobs: for each blob node, ``(start, length)``, each (elements,) int64, into the buffer.
    """

    message: NDArray[np.int64]
    buffer: NDArray[np.uint8]
    vocabularies: dict[int, Vocabulary]
    offsets: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    runs: dict[int, NDArray[np.unsignedinteger]] = field(default_factory=dict)
    codes: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    blobs: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.message)

    def numbers(self, leaf: Leaf) -> NDArray[np.generic]:
        """A leaf's values: (elements,) or, for fixed arrays, (elements, count). Moments are int64 ns."""
        items = self.runs[leaf.node][:, leaf.start : leaf.stop]
        if isinstance(leaf.type, Moment):
            seconds = items[:, 0].view(leaf.type.seconds).astype(np.int64)
            return seconds * NS_PER_S + items[:, 1].view(leaf.type.nanoseconds)
        assert isinstance(leaf.type, Primitive)
        values = items != 0 if leaf.type.dtype == "b1" else items.view(leaf.type.dtype)
        return values if leaf.is_array else values[:, 0]


def from_walk(walk: Walk, vocabularies: dict[int, Vocabulary], message: NDArray[np.int64]) -> Rows:
    """The values of all messages that a walk found good; `message` (N,) numbers those that it walked."""
    rows = Rows(message[walk.alive], walk.buffer, vocabularies)
    keep = None if walk.alive.all() else walk.alive
    for level in range(1, len(walk.counts)):
        (counts,) = _in_order([(who, (count,)) for who, count, _ in walk.counts[level]], keep, 1)
        rows.offsets[level] = offsets_of(counts)
    for node in walk.plan.nodes:
        pieces = walk.places[node.index]
        if isinstance(node, Run):
            rows.runs[node.index] = _run_values(walk, node, keep)
        else:
            start, length = _in_order([(who, (s, n)) for who, s, n in pieces if n is not None], keep, 2)
            if isinstance(node, Blob):
                rows.blobs[node.index] = (start, length)
            else:
                encoding = text_encoding(node.wide, walk.wide_size, walk.big_endian)
                rows.codes[node.index] = vocabularies[node.index].encode(walk.buffer, start, length, encoding)
    return rows


def empty_rows(plan: Plan, buffer: NDArray[np.uint8], vocabularies: dict[int, Vocabulary]) -> Rows:
    """The values of no message."""
    none = np.empty(0, np.int64)
    rows = Rows(none, buffer, vocabularies)
    for level in range(1, len(plan.parents)):
        rows.offsets[level] = offsets_of(none)
    for node in plan.nodes:
        if isinstance(node, Run):
            rows.runs[node.index] = np.empty((0, node.count), f"u{node.size}")
        elif isinstance(node, Blob):
            rows.blobs[node.index] = (none, none)
        else:
            rows.codes[node.index] = np.empty(0, np.int32)
    return rows


def text_encoding(wide: bool, wide_size: int, big_endian: bool) -> str:
    """The codec of a string's bytes."""
    return f"utf-{8 * wide_size}-{'be' if big_endian else 'le'}" if wide else "utf-8"


def offsets_of(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Where each of (N,) lists starts, and where the last one ends: (N + 1,) int32."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _run_values(walk: Walk, node: Run, keep: NDArray[np.bool_] | None) -> NDArray[np.unsignedinteger]:
    pieces = walk.places[node.index]
    if all(count is None for _, _, count in pieces):
        (start,) = _in_order([(who, (s,)) for who, s, _ in pieces], keep, 1)
        data = gather(walk.buffer, start, node.bytes)
    else:
        start, count = _in_order([(who, (s, n)) for who, s, n in pieces if n is not None], keep, 2)
        data = gather_pieces(walk.buffer, start, count * node.bytes)
    values = data.view(f"u{node.size}").reshape(-1, node.count)
    return values.byteswap(inplace=True) if walk.big_endian else values


def _in_order(
    pieces: list[tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...]]],
    keep: NDArray[np.bool_] | None,
    width: int,
) -> tuple[NDArray[np.int64], ...]:
    """Pieces (message, values) of a walk as one array per value: by message, then in wire order."""
    if not pieces:
        return (np.empty(0, np.int64),) * width
    if len(pieces) == 1:
        who, values = pieces[0]
    else:
        who = np.concatenate([who for who, _ in pieces])
        order = np.argsort(who, kind="stable")
        who = who[order]
        values = tuple(np.concatenate([v[i] for _, v in pieces])[order] for i in range(width))
    if keep is not None:
        good = keep[who]
        values = tuple(v[good] for v in values)
    return values


def merge(plan: Plan, groups: list[Rows]) -> Rows:
    """The rows of several groups of messages as one, by message."""
    if len(groups) == 1:
        return groups[0]
    message = np.concatenate([group.message for group in groups])
    ordered = np.sort(message)
    rows = Rows(ordered, groups[0].buffer, groups[0].vocabularies)
    place = {0: np.searchsorted(ordered, message)}
    for level in range(1, len(plan.parents)):
        parent = plan.parents[level]
        counts = np.concatenate([np.diff(group.offsets[level]) for group in groups])
        sorted_counts = _scatter(counts, place[parent])
        rows.offsets[level] = offsets_of(sorted_counts)
        place[level] = spread(rows.offsets[level][:-1][place[parent]].astype(np.int64), counts)
    for node, level in zip(plan.nodes, plan.levels, strict=True):
        index = node.index
        if isinstance(node, Run):
            rows.runs[index] = _scatter(np.concatenate([g.runs[index] for g in groups]), place[level])
        elif isinstance(node, Blob):
            start, length = (np.concatenate([g.blobs[index][i] for g in groups]) for i in (0, 1))
            rows.blobs[index] = (_scatter(start, place[level]), _scatter(length, place[level]))
        else:
            rows.codes[index] = _scatter(np.concatenate([g.codes[index] for g in groups]), place[level])
    return rows


def _scatter(values: NDArray, place: NDArray[np.int64]) -> NDArray:  # type: ignore[type-arg]
    out = np.empty_like(values)
    out[place] = values
    return out
