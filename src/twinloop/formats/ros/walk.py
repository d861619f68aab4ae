"""Where each node of each message lies: a walk through the definition with one cursor per message.

Each step moves all cursors at once. Only repeats of elements without a fixed size take a step per element;
a message that runs past its end drops out and is remembered as bad. Nothing is allocated for what a length
word claims before the message's bytes were found to be enough for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.ros.gather import gather_words, spread
from twinloop.formats.ros.plan import Blob, Repeat, Run, String

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from twinloop.formats.ros.plan import Node, Plan

    Ints = NDArray[np.int64]


class Walk:
    """Walks N messages that lie at `origin` (N,) to `end` (N,) in `buffer`; origin is where alignment counts.

    Attributes:
        alive: (N,) whether the message fitted the definition.
        places: for each node, pieces ``(message (K,), start (K,), count (K,) or None)``: a run repeated
            `count` times in a row (None: once), a string or blob of `count` bytes. Pieces of one message
            are in wire order.
        counts: for each level, pieces ``(message (K,), count (K,), word (K,) or None)`` of its repeats: how
            often, and where the length word is that says so (None: the definition does).
        word: how a length word is written, as numpy names it.
    """

    def __init__(
        self,
        plan: Plan,
        buffer: NDArray[np.uint8],
        origin: Ints,
        end: Ints,
        *,
        big_endian: bool = False,
        wide_size: int = 4,
    ) -> None:
        self.plan = plan
        self.buffer = buffer
        self.origin = origin
        self.end = end
        self.big_endian = big_endian
        self.wide_size = wide_size
        self.cursor = origin.copy()
        self.alive = np.ones(len(origin), bool)
        self.places: list[list[tuple[Ints, Ints, Ints | None]]] = [[] for _ in plan.nodes]
        self.counts: list[list[tuple[Ints, Ints, Ints | None]]] = [[] for _ in plan.parents]
        self.word = ">u4" if big_endian else "<u4"
        self._reason: tuple[int, str] | None = None

        everyone = self._body(plan.body, np.arange(len(origin)))
        left = (end - self.cursor)[everyone]
        self._drop(
            everyone,
            left <= plan.slack,
            lambda i: f"{left[i]} bytes are left over after the last field",
        )

    @property
    def why(self) -> str:
        """What was wrong with the first message that did not fit."""
        return self._reason[1] if self._reason else ""

    def _drop(
        self, who: Ints, fits: NDArray[np.bool_], reason: Callable[[int], str]
    ) -> NDArray[np.bool_] | None:
        """Marks those of `who` that do not fit as bad; returns `fits`, or None where all do."""
        if fits.all():
            return None
        first = int(np.argmin(fits))
        if self._reason is None or who[first] < self._reason[0]:
            self._reason = (int(who[first]), reason(first))
        self.alive[who[~fits]] = False
        return fits

    def _drop_short(self, who: Ints, start: Ints, size: Ints | int, node: Node) -> NDArray[np.bool_] | None:
        """As `_drop`, for messages that end before `size` bytes from `start`."""
        left = self.end[who] - start

        def reason(i: int) -> str:
            needed = size if isinstance(size, int) else int(size[i])
            at = start[i] - self.origin[who[i]]
            return f"{self._name(node)} needs {needed} bytes at byte {at}, {max(left[i], 0)} are left"

        return self._drop(who, size <= left, reason)

    def _aligned(self, who: Ints, size: int) -> Ints:
        cursor = self.cursor[who]
        if not self.plan.aligned or size == 1:
            return cursor
        return cursor + (self.origin[who] - cursor) % size

    def _body(self, body: list[Node], who: Ints) -> Ints:
        """Walks all nodes of a body; returns those whose messages held them."""
        for node in body:
            if not len(who):
                break
            match node:
                case Run():
                    who = self._run(node, who)
                case Repeat():
                    who = self._repeat(node, who)
                case _:
                    who = self._string(node, who)
        return who

    def _run(self, node: Run, who: Ints) -> Ints:
        start = self._aligned(who, node.size)
        if (keep := self._drop_short(who, start, node.bytes, node)) is not None:
            who, start = who[keep], start[keep]
        self.places[node.index].append((who, start, None))
        self.cursor[who] = start + node.bytes
        return who

    def _length(self, who: Ints, node: Node) -> tuple[Ints, Ints]:
        """Reads a length word; the cursor goes behind it."""
        start = self._aligned(who, 4)
        if (keep := self._drop_short(who, start, 4, node)) is not None:
            who, start = who[keep], start[keep]
        self.cursor[who] = start + 4
        return who, gather_words(self.buffer, start, self.word)

    def _string(self, node: String | Blob, who: Ints) -> Ints:
        who, size = self._length(who, node)
        is_text = isinstance(node, String)
        is_wide = isinstance(node, String) and node.wide
        if is_wide:
            size = size * self.wide_size
        start = self.cursor[who]
        if (keep := self._drop_short(who, start, size, node)) is not None:
            who, start, size = who[keep], start[keep], size[keep]
        self.cursor[who] = start + size
        if self.plan.aligned and is_text and not is_wide:  # the length counts a closing zero
            size = size - ((size > 0) & (self.buffer[start + size - 1] == 0))
        self.places[node.index].append((who, start, size))
        return who

    def _repeat(self, node: Repeat, who: Ints) -> Ints:
        word: Ints | None = None
        if node.count is None:
            who, count = self._length(who, node)
            word = self.cursor[who] - 4
        else:
            count = np.full(len(who), node.count)
        if node.bound is not None:
            keep = self._drop(
                who,
                count <= node.bound,
                lambda i: f"{self._name(node)} has {count[i]} elements, at most {node.bound} are allowed",
            )
            if keep is not None:
                who, count, word = who[keep], count[keep], None if word is None else word[keep]
        keep = self._drop_short(who, self.cursor[who], count * node.smallest, node)
        if keep is not None:
            who, count, word = who[keep], count[keep], None if word is None else word[keep]
        self.counts[node.level].append((who, count, word))
        if not node.body:
            return who
        if len(node.body) == 1 and isinstance(node.body[0], Run):
            return self._block(node.body[0], who, count)
        if node.fixed:
            return self._fixed_elements(node, who, count)
        return self._elements(node, who, count)

    def _block(self, run: Run, who: Ints, count: Ints) -> Ints:
        """Elements that are one run each: one block of bytes."""
        start = np.where(count > 0, self._aligned(who, run.size), self.cursor[who])
        if (keep := self._drop_short(who, start, count * run.bytes, run)) is not None:
            who, start, count = who[keep], start[keep], count[keep]
        self.places[run.index].append((who, start, count))
        self.cursor[who] = start + count * run.bytes
        return who

    def _fixed_elements(self, node: Repeat, who: Ints, count: Ints) -> Ints:
        """Elements of several runs. From the second on, all are laid out alike: the run of the largest
        alignment starts at a multiple of it, which fixes where the element ends and the next one starts."""
        runs = [run for run in node.body if isinstance(run, Run)]
        begin = self.cursor[who]
        first, second = self._layout(runs, who, begin)
        later, third = self._layout(runs, who, second)
        stride = third - second
        stop = np.where(count > 0, second + (count - 1) * stride, begin)
        if (keep := self._drop_short(who, begin, stop - begin, node)) is not None:
            who, count, stop, stride = who[keep], count[keep], stop[keep], stride[keep]
            first, later = [p[keep] for p in first], [p[keep] for p in later]
        self.cursor[who] = stop
        owner = np.repeat(who, count)
        order = spread(np.zeros(len(who), np.int64), count)
        for run, at_first, at_later in zip(runs, first, later, strict=True):
            start = np.repeat(at_later - stride, count) + order * np.repeat(stride, count)
            start[order == 0] = at_first[count > 0]
            self.places[run.index].append((owner, start, None))
        return who

    def _layout(self, runs: list[Run], who: Ints, cursor: Ints) -> tuple[list[Ints], Ints]:
        """Where the runs of an element that begins at `cursor` start, and where it ends."""
        origin = self.origin[who]
        starts = []
        for run in runs:
            if self.plan.aligned:
                cursor = cursor + (origin - cursor) % run.size
            starts.append(cursor)
            cursor = cursor + run.bytes
        return starts, cursor

    def _elements(self, node: Repeat, who: Ints, count: Ints) -> Ints:
        """Elements whose size only they themselves tell: one step per element, for all messages at once."""
        busy, todo, done = who, count, 0
        while True:
            more = todo > done
            if not more.all():
                busy, todo = busy[more], todo[more]
            if not len(busy):
                return who[self.alive[who]]
            left = self._body(node.body, busy)
            if len(left) != len(busy):
                todo, busy = todo[self.alive[busy]], left
            done += 1

    def _name(self, node: Node) -> str:
        if isinstance(node, Repeat):
            return f"the list {self.plan.level_path(node.level)}"
        return next((path for path, leaf in self.plan.leaves.items() if leaf.node == node.index), "a field")
