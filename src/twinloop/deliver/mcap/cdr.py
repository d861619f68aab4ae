"""Encoding N ROS 2 messages at once: XCDR version 1, little endian (OMG DDS-RTPS 2.2, section 10).

Four bytes of encapsulation, then each primitive aligned to its own size, counted from behind the
encapsulation. A sequence of no elements aligns nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.mcap.values import Group, Lists, Texts, take
from twinloop.deliver.mcap.wire import Pieces, Ragged
from twinloop.formats.ros.definitions import Many, Moment, Primitive, Struct, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from twinloop.deliver.mcap.values import Value
    from twinloop.formats.ros.definitions import Type

_ENCAPSULATION = np.array([0, 1, 0, 0], np.uint8)
_NS = 1_000_000_000


def encode_cdr(message: Struct, values: Mapping[str, Value], count: int) -> Ragged:
    """`count` messages of a type; `values` by dotted path. What has no value is zero, or empty."""
    body = _Body(count)
    body.struct(message, "", values, np.arange(count))
    start = Ragged.of_matrix(np.broadcast_to(_ENCAPSULATION, (count, 4)))
    whole = Pieces(count)
    whole.put(start)
    whole.put(body.pieces.finish())
    return whole.finish()


class _Body:
    """Messages in the making. `rows` (R,): the messages that a value goes to, ascending."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.pieces = Pieces(count)

    def struct(self, type: Struct, path: str, values: Mapping[str, Value], rows: NDArray[np.int64]) -> None:
        for name, field in type.fields:
            self.value(field, f"{path}.{name}" if path else name, values, rows)

    def value(self, type: Type, path: str, values: Mapping[str, Value], rows: NDArray[np.int64]) -> None:
        found = values.get(path)
        match type:
            case Struct():
                self.struct(type, path, values, rows)
            case Moment():
                times = np.zeros(len(rows), np.int64) if found is None else np.asarray(found, np.int64)
                self._numbers((times // _NS)[:, None], type.seconds, rows)
                self._numbers((times % _NS)[:, None], type.nanoseconds, rows)
            case Primitive():
                numbers = np.zeros(len(rows)) if found is None else np.asarray(found)
                self._numbers(numbers[:, None], type.dtype, rows)
            case Text():
                self._texts(found if isinstance(found, Texts) else _empty_texts(len(rows)), rows)
            case Many(Primitive() as element, None):
                self._sequence(element, found, rows)
            case Many(Primitive() as element, int() as size):
                numbers = np.zeros((len(rows), size)) if found is None else np.asarray(found)
                self._numbers(numbers, element.dtype, rows)
            case Many(element, _):
                self._elements(element, path, found, rows)

    def _sequence(self, element: Primitive, found: Value | None, rows: NDArray[np.int64]) -> None:
        if isinstance(found, Ragged):
            self._numbers(found.length[:, None], "u4", rows)
            self._put(found, rows)
            return
        if isinstance(found, np.ndarray):  # as many in every message
            found = Lists(np.full(len(rows), found.shape[1], np.int64), found.reshape(-1))
        lists = found if isinstance(found, Lists) else Lists(np.zeros(len(rows), np.int64), np.empty(0))
        self._numbers(lists.counts[:, None], "u4", rows)
        some = np.flatnonzero(lists.counts)
        self._align(element.size, rows[some])
        flat = np.ascontiguousarray(lists.values, np.dtype(element.dtype).newbyteorder("<"))
        self._put(Ragged(flat.view(np.uint8).reshape(-1), lists.counts * element.size), rows)

    def _elements(
        self,
        element: Type,
        path: str,
        found: Value | None,
        rows: NDArray[np.int64],
    ) -> None:
        """A list of texts or structures, the k-th elements of all messages together."""
        inner: Mapping[str, Value]
        match found:
            case Lists():
                counts, inner = found.counts, {path: found.values}
            case Group():
                counts, inner = found.counts, {f"{path}.{name}": v for name, v in found.values.items()}
            case _:
                counts, inner = np.zeros(len(rows), np.int64), {}
        self._numbers(counts[:, None], "u4", rows)
        starts = np.cumsum(counts) - counts
        for number in range(int(counts.max(initial=0))):
            some = np.flatnonzero(counts > number)
            chosen = {name: take(value, starts[some] + number) for name, value in inner.items()}
            self.value(element, path, chosen, rows[some])

    def _texts(self, texts: Texts, rows: NDArray[np.int64]) -> None:
        runs = texts.runs(b"\0")
        self._numbers(runs.length[:, None], "u4", rows)
        self._put(runs, rows)

    def _numbers(self, matrix: NDArray[np.generic], dtype: str, rows: NDArray[np.int64]) -> None:
        kind = np.dtype(dtype).newbyteorder("<")
        matrix = np.ascontiguousarray(matrix.astype(kind, copy=False))
        self._align(kind.itemsize, rows)
        self._put(Ragged.of_matrix(matrix.view(np.uint8).reshape(len(matrix), -1)), rows)

    def _align(self, size: int, rows: NDArray[np.int64]) -> None:
        if size > 1:
            gap = np.zeros(self.count, np.int64)
            gap[rows] = -self.pieces.size[rows] % size
            self.pieces.zeros(gap)

    def _put(self, piece: Ragged, rows: NDArray[np.int64]) -> None:
        self.pieces.put(piece if len(rows) == self.count else piece.spread_over(self.count, rows))


def _empty_texts(count: int) -> Texts:
    return Texts(np.zeros(count, np.int64), (b"",))
