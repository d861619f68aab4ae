"""A message type as a few nodes that lie one after the other on the wire.

Neighbouring fields of one item size, through nested types, are one `Run`: the 37 numbers of an Imu, say,
are a single block of bytes. What a message decides for itself are `String`, `Blob` and `Repeat`. A
`Leaf` names one field and tells in which node its values are.

Each repeat opens a level: level 0 are the messages, a level's elements are counted per element of its parent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twinloop.formats.ros.definitions import DefinitionError, Many, Moment, Primitive, Struct, Text

if TYPE_CHECKING:
    from collections.abc import Collection

    from twinloop.formats.ros.definitions import Type

#: A definition may nest so that a few lines mean millions of fields; no real type comes near this.
MAX_LEAVES = 20_000
#: No message is longer, so nothing larger need be told apart.
MAX_BYTES = 2**31


@dataclass(slots=True)
class Run:
    """`count` items of `size` bytes, without gaps; in CDR aligned to `size`."""

    index: int
    size: int
    count: int

    @property
    def bytes(self) -> int:
        return self.size * self.count


@dataclass(slots=True)
class String:
    """A length word and so many bytes, or (`wide`) characters."""

    index: int
    wide: bool


@dataclass(slots=True)
class Blob:
    """A length word and so many bytes that are never copied."""

    index: int


@dataclass(slots=True)
class Repeat:
    """`count` times the body, or as often as a length word says (None), at most `bound`.

    Attributes:
        level: the level of its elements.
        smallest: bytes of the shortest element, 0 only for a body of nothing.
    """

    level: int
    count: int | None
    bound: int | None
    body: list[Node]
    smallest: int

    @property
    def fixed(self) -> bool:
        """Whether an element's size does not depend on its content."""
        return all(isinstance(node, Run) for node in self.body)


Node = Run | String | Blob | Repeat


@dataclass(frozen=True, slots=True)
class Leaf:
    """One field: `start:stop` of the items of run `node`, or the string or blob `node`, at `level`.

    `is_array`: a fixed array of numbers, always several values a row.
    """

    path: str
    type: Primitive | Moment | Text
    node: int
    level: int
    start: int = 0
    stop: int = 1
    is_array: bool = False
    is_blob: bool = False


@dataclass(slots=True)
class Plan:
    """A type's nodes in wire order, its leaves by dotted path, and each level's parent (-1: none)."""

    name: str
    aligned: bool
    body: list[Node]
    leaves: dict[str, Leaf]
    parents: list[int]
    nodes: list[Run | String | Blob]
    levels: list[int] = field(default_factory=list)  # level of each node

    @property
    def has_blobs(self) -> bool:
        return any(isinstance(node, Blob) for node in self.nodes)

    @property
    def slack(self) -> int:
        """How many bytes may follow a message: CDR pads it to 4 or, with some writers, 8."""
        return 7 if self.aligned else 0

    def level_path(self, level: int) -> str:
        """The dotted path of some leaf in a level, for messages."""
        return next(
            (p for p, leaf in self.leaves.items() if level in (self.levels_between(0, leaf.level) or ())),
            "of elements",
        )

    def level_of_list(self, path: str) -> int | None:
        """The level of the elements of the list `path` of a message; None if there is no such list."""
        for leaf in self.leaves.values():
            levels = self.levels_between(0, leaf.level)
            if leaf.path.startswith(f"{path}.") and levels:
                return levels[-1]
        return None

    def levels_between(self, outer: int, inner: int) -> list[int] | None:
        """The levels from `inner` up to, not including, `outer`; None if it does not lie in `outer`."""
        chain = []
        while inner > outer:
            chain.append(inner)
            inner = self.parents[inner]
        return chain if inner == outer else None


def make_plan(struct: Struct, *, aligned: bool, by_reference: Collection[str] = ()) -> Plan:
    """The plan of a type.

    Args:
        aligned: CDR, where a number starts at a multiple of its size, and a type without fields is a byte.
        by_reference: dotted paths of byte sequences to leave where they are.

    Raises:
        DefinitionError: the type has more fields than any real one.
    """
    builder = _Builder(struct.name, aligned, frozenset(by_reference))
    body: list[Node] = []
    builder.add(struct, "", 0, body)
    return Plan(struct.name, aligned, body, builder.leaves, builder.parents, builder.nodes, builder.levels)


def smallest_size(body: list[Node]) -> int:
    """Bytes of the shortest message of a body, alignment left out."""
    total = 0
    for node in body:
        if isinstance(node, Run):
            total += node.bytes
        elif isinstance(node, Repeat) and node.count is not None:
            total += node.count * node.smallest
        else:
            total += 4
    return total


class _Builder:
    def __init__(self, name: str, aligned: bool, by_reference: frozenset[str]) -> None:
        self.name = name
        self.aligned = aligned
        self.by_reference = by_reference
        self.leaves: dict[str, Leaf] = {}
        self.parents = [-1]
        self.nodes: list[Run | String | Blob] = []
        self.levels: list[int] = []
        self.visits = 0

    def add(self, type: Type, path: str, level: int, body: list[Node]) -> None:
        self.visits += 1
        if self.visits > 4 * MAX_LEAVES or len(self.leaves) > MAX_LEAVES:
            raise DefinitionError(
                f"the definition of {self.name} has more than {MAX_LEAVES} fields",
                expected="a message type that people wrote",
            )
        match type:
            case Struct():
                for name, inner in type.fields:
                    self.add(inner, f"{path}.{name}" if path else name, level, body)
                if not type.fields and self.aligned:
                    self.run(1, 1, level, body)
            case Primitive():
                self.leaf(path, type, level, self.run(type.size, 1, level, body))
            case Moment():
                self.leaf(path, type, level, self.run(4, 2, level, body))
            case Text():
                node = String(len(self.nodes), type.wide)
                self.put(node, level, body)
                self.leaf(path, type, level, (node.index, 0, 1))
            case Many():
                self.many(type, path, level, body)

    def many(self, type: Many, path: str, level: int, body: list[Node]) -> None:
        element = type.element
        if isinstance(element, Primitive) and type.count is not None:
            self.leaf(path, element, level, self.run(element.size, type.count, level, body), is_array=True)
        elif path in self.by_reference and isinstance(element, Primitive) and element.size == 1:
            node = Blob(len(self.nodes))
            self.put(node, level, body)
            self.leaf(path, element, level, (node.index, 0, 1), is_blob=True)
        else:
            inner: list[Node] = []
            self.parents.append(level)
            repeat = Repeat(len(self.parents) - 1, type.count, type.bound, inner, 0)
            self.add(element, path, repeat.level, inner)
            repeat.smallest = min(smallest_size(inner), MAX_BYTES)
            body.append(repeat)

    def run(self, size: int, count: int, level: int, body: list[Node]) -> tuple[int, int, int]:
        """Room for `count` items in the last run, or in a new one: its index, first and last item."""
        last = body[-1] if body else None
        if not isinstance(last, Run) or last.size != size:
            last = Run(len(self.nodes), size, 0)
            self.put(last, level, body)
        last.count += count
        return last.index, last.count - count, last.count

    def put(self, node: Run | String | Blob, level: int, body: list[Node]) -> None:
        self.nodes.append(node)
        self.levels.append(level)
        body.append(node)

    def leaf(
        self,
        path: str,
        type: Primitive | Moment | Text,
        level: int,
        place: tuple[int, int, int],
        *,
        is_array: bool = False,
        is_blob: bool = False,
    ) -> None:
        self.leaves[path] = Leaf(path, type, place[0], level, place[1], place[2], is_array, is_blob)
