"""The decoder of one ROS type: all messages of a stream in a buffer, as the columns of the type's kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import LAYOUTS, TIME_COLUMNS, Kind, StampSource
from twinloop.core.stream import Payload
from twinloop.formats.flat import attributes_of
from twinloop.formats.messages import Decoded, Peek
from twinloop.formats.ros.columns import Absent, Field, UnfitError, arrow_type, number_array
from twinloop.formats.ros.definitions import Struct, normal_name, parse_definition
from twinloop.formats.ros.encapsulation import HEADER_BYTES, endianness
from twinloop.formats.ros.kinds import RECIPES, Recipe
from twinloop.formats.ros.known_layouts import KnownLayouts
from twinloop.formats.ros.pictures import bind_payload, is_depth_encoding, is_depth_format
from twinloop.formats.ros.plan import String, make_plan
from twinloop.formats.ros.rows import Rows, empty_rows, from_walk, merge
from twinloop.formats.ros.vocabulary import Vocabulary
from twinloop.formats.ros.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from numpy.typing import NDArray

    from twinloop.core.kinds import Column
    from twinloop.formats.ros.columns import Bound, Source
    from twinloop.formats.ros.definitions import DefinitionFormat

    Ints = NDArray[np.int64]

Encoding = Literal["cdr", "ros1"]

#: rosidl puts this byte into types without fields.
_PLACEHOLDER = "structure_needs_at_least_one_member"
#: Columns that mean times to all that read them; a field of such a name gets a trailing underscore.
_RESERVED = frozenset({*TIME_COLUMNS, "message"})
_TIMES = dict.fromkeys(TIME_COLUMNS, pa.int64())


def ros_decoder(
    type_name: str, definition: str, *, encoding: Encoding, definition_format: DefinitionFormat
) -> RosDecoder:
    """The decoder of a type.

    Args:
        definition: the type's own text and, after lines of ``=``, those of the types that it uses.

    Raises:
        DefinitionError: the definition does not parse or lacks a type.
    """
    struct = parse_definition(type_name, definition, definition_format)
    for recipe in (*RECIPES.get(normal_name(type_name), ()), Recipe(Kind.TABLE)):
        try:
            return RosDecoder(struct, recipe, encoding)
        except UnfitError:
            continue
    raise AssertionError("a table fits every type")


class RosDecoder:
    """Decodes messages of one type; a `MessageDecoder`.

    Rows are messages, in order, but for transforms, which have one row each. A text that is not valid UTF-8
    is kept with replacement characters; `Decoded.why` then says so though no message is bad.
    """

    def __init__(self, struct: Struct, recipe: Recipe, encoding: Encoding) -> None:
        self.recipe = recipe
        by_reference = (recipe.payload,) if recipe.payload else ()
        self.plan = make_plan(struct, aligned=encoding == "cdr", by_reference=by_reference)
        self._row_level = self.plan.level_of_list(recipe.rows) if recipe.rows else 0
        if self._row_level is None:
            raise UnfitError(recipe.rows)
        self.units = dict(recipe.units)
        self._columns = self._bind(struct)
        self._payload: Callable[[Rows], tuple[Ints, Ints]] | None = None
        if recipe.payload:
            self._payload = bind_payload(self.plan, recipe.payload, recipe.format)
        self._vocabularies = {node.index: Vocabulary() for node in self.plan.nodes if isinstance(node, String)}
        self._known = KnownLayouts(self.plan)
        self._wide = any(isinstance(node, String) and node.wide for node in self.plan.nodes)

    def peek(self, first: bytes | None) -> Peek:
        """What is known from the type, and from the first message if there is one that decodes."""
        has_stamp = "stamp_ns" in self._columns
        peek = Peek(self.recipe.kind, StampSource.DRIVER if has_stamp else StampSource.NONE, self.units)
        if not first:
            return peek
        buffer = np.frombuffer(first, np.uint8)
        decoded = self.decode(buffer, np.zeros(1, np.int64), np.array([len(first)]))
        if not len(next(iter(decoded.columns.values()), ())):
            return peek
        row = {name: column[0].as_py() for name, column in decoded.columns.items()}
        kind = self.recipe.kind
        if kind is Kind.IMAGE and (
            is_depth_format(row.get("format") or "")
            or is_depth_encoding(row.get("encoding") or "", row.get("frame_id") or "")
        ):
            kind = Kind.DEPTH
        return replace(peek, kind=kind, attributes=attributes_of(kind, row))

    def decode(self, buffer: NDArray[np.uint8], offset: Ints, length: Ints) -> Decoded:
        """Columns of the messages at `offset` (N,) of `length` (N,) bytes in `buffer` (B,) uint8.

        Never raises for what the bytes hold: a message that does not fit is in `bad`.
        """
        for vocabulary in self._vocabularies.values():
            vocabulary.begin()
        offset, length = np.asarray(offset, np.int64), np.asarray(length, np.int64)
        rows, why = self._rows(buffer, offset, length)
        bad = None
        if len(rows) != len(offset):
            is_bad = np.ones(len(offset), bool)
            is_bad[rows.message] = False
            bad = np.flatnonzero(is_bad)
        else:
            replaced = (rows.vocabularies[index].replaced(codes) for index, codes in rows.codes.items())
            text = next(filter(None, replaced), None)
            why = f"a text is not valid UTF-8, kept as {text!r}" if text else ""
        message = rows.message
        if self._row_level:
            message = np.repeat(message, np.diff(rows.offsets[self._row_level]))
        columns = {name: bound(rows, len(message)) for name, bound in self._columns.items()}
        if self.recipe.kind is Kind.TRANSFORMS:
            columns["message"] = number_array(message)
        return Decoded(
            columns,
            message if bad is not None or self._row_level else None,
            Payload(buffer, *self._payload(rows)) if self._payload else None,
            bad,
            why,
        )

    def _rows(self, buffer: NDArray[np.uint8], offset: Ints, length: Ints) -> tuple[Rows, str]:
        """The values of all messages that fit, and what was wrong with the first that does not."""
        inside = (offset >= 0) & (length >= 0) & (offset + length <= len(buffer))
        why = "" if inside.all() else "a message reaches outside its buffer"
        groups, who = self._known.rows(buffer, offset, length, np.flatnonzero(inside), self._vocabularies)
        walks = [(who, False)]
        if self.plan.aligned and len(who):
            is_little, is_big, reason = endianness(buffer, offset[who], length[who])
            why = why or reason
            walks = [(who[is_little], False), (who[is_big], True)]
        for part, big_endian in walks:
            if len(part):
                origin = offset[part] + (HEADER_BYTES if self.plan.aligned else 0)
                rows, reason = self._walk(buffer, part, origin, (offset + length)[part], big_endian)
                groups.append(rows)
                why = why or reason
        return merge(self.plan, groups or [empty_rows(self.plan, buffer, self._vocabularies)]), why

    def _walk(
        self, buffer: NDArray[np.uint8], who: Ints, origin: Ints, end: Ints, big_endian: bool
    ) -> tuple[Rows, str]:
        walk = Walk(self.plan, buffer, origin, end, big_endian=big_endian)
        self._known.learn(walk)
        rows = from_walk(walk, self._vocabularies, who)
        if not self._wide or walk.alive.all():
            return rows, walk.why
        rest = ~walk.alive
        narrow = Walk(self.plan, buffer, origin[rest], end[rest], big_endian=big_endian, wide_size=2)
        return merge(self.plan, [rows, from_walk(narrow, self._vocabularies, who[rest])]), narrow.why

    def _bind(self, struct: Struct) -> dict[str, Bound]:
        """The columns: time columns, those of the kind's layout, then all fields that are in none of them."""
        level = self._row_level or 0
        sources = {} if level else _header_sources(struct)
        sources |= self.recipe.columns
        layout = {
            column.name.rstrip("?"): column for column in LAYOUTS[self.recipe.kind] if column.name != "message"
        }
        types = {name: arrow_type(column.type) for name, column in layout.items()} | _TIMES
        for name, column in layout.items():
            if name not in sources and not column.name.endswith("?"):
                sources[name] = Absent()
        used = {path for source in sources.values() for path in source.paths}
        for path, leaf in self.plan.leaves.items():
            inside = self.plan.levels_between(level, leaf.level) is not None
            if path not in used and inside and not leaf.is_blob and not path.endswith(_PLACEHOLDER):
                sources[_free_name(path, sources)] = Field(path)
        ordered = sorted(sources, key=lambda name: _rank(name, layout))
        return {name: sources[name].bind(self.plan, level, types.get(name)) for name in ordered}


def _header_sources(struct: Struct) -> dict[str, Source]:
    """What a leading std_msgs/Header gives: its stamp, its frame and, in ROS 1, its count."""
    name, header = struct.fields[0] if struct.fields else ("", None)
    if not isinstance(header, Struct) or header.name != "std_msgs/msg/Header":
        return {}
    known = {"stamp": "stamp_ns", "seq": "seq", "frame_id": "frame_id"}
    return {known[field]: Field(f"{name}.{field}") for field, _ in header.fields if field in known}


def _free_name(path: str, taken: Container[str]) -> str:
    """A field's own path; with an underscore where the name means something else to all that read it."""
    while path in taken or path in _RESERVED:
        path += "_"
    return path


def _rank(name: str, layout: Mapping[str, Column]) -> tuple[int, int]:
    """Time columns first, then the layout's in its order, then the rest in the type's."""
    for group, names in enumerate((TIME_COLUMNS, tuple(layout))):
        if name in names:
            return group, names.index(name)
    return 2, 0
