"""Messages laid out like an earlier one, recognised and read without a walk.

Where the fields of a message lie is decided by its length and its length words alone. A `Template` keeps
both from a message that was walked. Others of that length are compared with it all at once, and where the
length words agree every value is at a known place. Texts are compared in the same stroke: where they agree
too, as joint and frame names do, they need not be read. A type whose messages end in bytes kept by reference
(images, point clouds) has one layout for all their lengths: the bytes' length word must say how long the
message is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.ros.gather import gather, gather_words, spread
from twinloop.formats.ros.plan import Blob, Run, String
from twinloop.formats.ros.rows import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.formats.ros.plan import Plan
    from twinloop.formats.ros.vocabulary import Vocabulary
    from twinloop.formats.ros.walk import Walk

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Vocabularies = dict[int, Vocabulary]

#: Compared bytes with no more than this between them are copied out as one piece.
_NEAR = 16
#: A message of more places than this is cheaper to walk than to remember.
MAX_PLACES = 1024


@dataclass(frozen=True, slots=True)
class _Pieces:
    """K pieces of `size` bytes at `at` (K,) of a message that must equal `expected` (K * size,) uint8.

    `mask` is 0xff for bytes that are compared at all, `layout` for those that decide where others lie.
    """

    at: Ints
    size: int
    expected: NDArray[np.uint8]
    mask: NDArray[np.uint8]
    layout: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Texts:
    """A string node's texts: where they start and how long they are, each (K,), and the bytes of each."""

    at: Ints
    length: Ints
    raw: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Tail:
    """A blob whose length word is at `word`; `fixed` bytes of the message are not the blob's own."""

    word: int
    fixed: int


@dataclass(frozen=True, slots=True)
class Template:
    """The layout of a message; all places count from its first byte.

    Attributes:
        length: bytes of the message, or, with `tail`, of the shortest with this layout.
        pieces: what a message must be compared with.
        lists: for each level but 0, how many elements each of its parents has.
        runs: for each run node, where it lies (K,) and how many bytes follow there without gaps.
    """

    plan: Plan
    big_endian: bool
    length: int
    pieces: tuple[_Pieces, ...]
    lists: dict[int, Ints]
    runs: dict[int, tuple[Ints, int]]
    texts: dict[int, _Texts]
    tail: _Tail | None

    def compare(self, buffer: NDArray[np.uint8], offset: Ints, length: Ints) -> tuple[Bools | None, bool]:
        """Which of N messages, none shorter than `self.length`, are laid out so (None: all are).

        The second value tells whether the texts of all these are the same, too.
        """
        fits: Bools | None = None
        differs: Bools | None = None
        if self.tail is not None:
            size = self._blob_sizes(buffer, offset)
            left = length - self.tail.fixed - size
            good = (left >= 0) & (left <= self.plan.slack)
            fits = None if good.all() else good
        for piece in self.pieces:
            data = gather(buffer, _everywhere(offset, piece.at), piece.size).reshape(len(offset), -1)
            data ^= piece.expected
            data &= piece.mask
            if not data.max(initial=0):
                continue
            other, good = _any_in_row(data), ~_any_in_row(data & piece.layout)
            differs = other if differs is None else differs | other
            fits = good if fits is None else fits & good
        if fits is not None and fits.all():
            fits = None
        same = differs is None or not (differs if fits is None else differs & fits).any()
        return fits, same

    def rows(
        self,
        buffer: NDArray[np.uint8],
        offset: Ints,
        message: Ints,
        vocabularies: Vocabularies,
        *,
        same_texts: bool,
    ) -> Rows:
        """The values of N messages that are laid out so; `message` (N,) are their numbers."""
        rows = Rows(message, buffer, vocabularies)
        count = len(offset)
        size = self._blob_sizes(buffer, offset) if self.tail is not None else None
        for level, elements in self.lists.items():
            rows.offsets[level] = _list_offsets(elements, count)
        for node in self.plan.nodes:
            match node:
                case Run(index=index):
                    at, run_bytes = self.runs[index]
                    place = _everywhere(offset, at)
                    if self.tail is not None and size is not None and len(at) and at[0] > self.tail.word:
                        place = place + size
                    data = gather(buffer, place, run_bytes).view(f"u{node.size}").reshape(-1, node.count)
                    rows.runs[index] = data.byteswap(inplace=True) if self.big_endian else data
                case String(index=index):
                    texts, vocabulary = self.texts[index], vocabularies[index]
                    if same_texts:
                        rows.codes[index] = _repeated(vocabulary.codes(texts.raw, "utf-8"), count)
                    else:
                        place, text_bytes = _everywhere(offset, texts.at), _repeated(texts.length, count)
                        rows.codes[index] = vocabulary.encode(buffer, place, text_bytes, "utf-8")
                case Blob(index=index):
                    assert self.tail is not None
                    assert size is not None
                    rows.blobs[index] = (offset + (self.tail.word + 4), size)
        return rows

    def _blob_sizes(self, buffer: NDArray[np.uint8], offset: Ints) -> Ints:
        assert self.tail is not None
        return gather_words(buffer, offset + self.tail.word, ">u4" if self.big_endian else "<u4")


def _everywhere(offset: Ints, at: Ints) -> Ints:
    """The places `at` (K,) of messages at `offset` (N,): (N * K,), by message."""
    return offset + at if len(at) == 1 else (offset[:, None] + at).reshape(-1)


def _any_in_row(data: NDArray[np.uint8]) -> Bools:
    """Which of (N, K) rows have a byte that is not zero."""
    return data.max(axis=1, initial=0) > 0


def _repeated(values: NDArray, count: int) -> NDArray:  # type: ignore[type-arg]
    """(K,) values `count` times over; what `numpy.tile` does slowly."""
    out = np.empty((count, len(values)), values.dtype)
    out[:] = values
    return out.reshape(-1)


def _list_offsets(elements: Ints, count: int) -> NDArray[np.int32]:
    """Where lists of `elements` (K,) each start and end, in `count` messages: (count * K + 1,) int32."""
    if len(elements) == 1:
        step = int(elements[0])
        return np.arange(0, count * step + 1, step, dtype=np.int32) if step else np.zeros(count + 1, np.int32)
    offsets = np.zeros(count * len(elements) + 1, np.int32)
    ends = np.cumsum(elements)
    total = int(ends[-1]) if len(ends) else 0
    offsets[1:] = (np.arange(count)[:, None] * total + ends).reshape(-1)
    return offsets


def template_of(walk: Walk, message: int, before: int) -> Template | None:
    """The layout of a message that a walk found good; None where it has more places than are worth keeping.

    Args:
        before: bytes of each message before those that were walked (in CDR, the 4 of the encapsulation).
    """
    plan = walk.plan
    base = int(walk.origin[message]) - before
    marks = _Marks(walk.buffer[base : int(walk.end[message])], walk.word)
    if before:
        marks.add_layout(np.zeros(1, np.int64), 2)
    lists, runs, texts = {}, {}, {}
    tail: _Tail | None = None
    used = int(walk.cursor[message]) - base
    for level in range(1, len(plan.parents)):
        count, word = _of_message(walk.counts[level], message)
        lists[level] = count
        marks.add_layout(word - base, 4)
    for node in plan.nodes:
        start, count = _of_message(walk.places[node.index], message)
        start = start - base
        match node:
            case Run(index=index):
                runs[index] = _blocks(node, start, count)
            case String(index=index):
                texts[index] = _Texts(start, count, marks.add_texts(start, count, closed=plan.aligned))
            case Blob():
                tail = _Tail(int(start[0]) - 4, used - int(count[0]))
    if marks.count + sum(len(at) for at, _ in runs.values()) > MAX_PLACES:
        return None
    if tail is not None:
        blob = used - tail.fixed
        runs = {i: (np.where(at > tail.word, at - blob, at), size) for i, (at, size) in runs.items()}
    length = tail.fixed if tail else len(marks.message)
    return Template(plan, walk.big_endian, length, marks.pieces(), lists, runs, texts, tail)


def has_templates(plan: Plan) -> bool:
    """Whether the layout of a type's messages can be kept: no wide texts, and nothing after bytes kept by
    reference that their length could move."""
    if any(isinstance(node, String) and node.wide for node in plan.nodes):
        return False
    blobs = [i for i, node in enumerate(plan.body) if isinstance(node, Blob)]
    if len(blobs) != sum(isinstance(node, Blob) for node in plan.nodes) or len(blobs) > 1:
        return False
    after = plan.body[blobs[0] + 1 :] if blobs else []
    return all(isinstance(node, Run) and (node.size == 1 or not plan.aligned) for node in after)


class _Marks:
    """Bytes of a message that others of its layout have, too."""

    def __init__(self, message: NDArray[np.uint8], word: str) -> None:
        self.message = message
        self.count = 0
        self._word = word
        self._spans: list[tuple[int, int]] = []
        self._mask = np.zeros(len(message), np.uint8)
        self._layout = np.zeros(len(message), np.uint8)

    def add_layout(self, at: Ints, size: int) -> None:
        """Bytes that decide where others lie."""
        self.count += len(at)
        for start in at.tolist()[:MAX_PLACES]:
            self._spans.append((start, start + size))
            self._mask[start : start + size] = self._layout[start : start + size] = 0xFF

    def add_texts(self, at: Ints, length: Ints, *, closed: bool) -> tuple[bytes, ...]:
        """Texts and their length words; if `closed`, these count a zero that is no part of the text."""
        self.add_layout(at - 4, 4)
        if closed:
            size = gather_words(self.message, at - 4, self._word)
            self.add_layout((at + size - 1)[size > 0], 1)
        raws = []
        for start, size in zip(at.tolist()[:MAX_PLACES], length.tolist(), strict=False):
            raws.append(self.message[start : start + size].tobytes())
            self._spans.append((start, start + size))
            self._mask[start : start + size] = 0xFF
        return tuple(raws)

    def pieces(self) -> tuple[_Pieces, ...]:
        """All of them, pieces of one size together; what lies between near ones is copied and not compared."""
        spans: list[list[int]] = []
        for start, end in sorted(self._spans):
            if spans and start - spans[-1][1] <= _NEAR:
                spans[-1][1] = max(spans[-1][1], end)
            else:
                spans.append([start, end])
        by_size: dict[int, list[int]] = {}
        for start, end in spans:
            by_size.setdefault(end - start, []).append(start)
        return tuple(self._piece(size, np.array(at)) for size, at in by_size.items())

    def _piece(self, size: int, at: Ints) -> _Pieces:
        expected, mask, layout = (
            gather(values, at, size).reshape(-1) for values in (self.message, self._mask, self._layout)
        )
        return _Pieces(at, size, expected, mask, layout)


def _of_message(pieces: list[tuple[Ints, Ints, Ints | None]], message: int) -> tuple[Ints, Ints]:
    """Both values of a message's pieces of a walk, in wire order; the second is empty where there are none."""
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for who, one, other in pieces:
        a, b = np.searchsorted(who, (message, message + 1))
        first.append(one[a:b])
        if other is not None:
            second.append(other[a:b])
    return np.concatenate(first), np.concatenate(second)


def _blocks(run: Run, start: Ints, count: Ints) -> tuple[Ints, int]:
    """Where a run lies and how many bytes to take there; `count` (empty: once) is how often in a row."""
    if not len(count):
        return start, run.bytes
    start, count = start[count > 0], count[count > 0]
    if len(count) and (count == count[0]).all():
        return start, run.bytes * int(count[0])
    return spread(start, count, run.bytes), run.bytes
