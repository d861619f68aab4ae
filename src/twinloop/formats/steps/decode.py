"""From rows of arrays to the columns of a stream's kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import Kind
from twinloop.core.stream import Payload
from twinloop.formats.steps.columns import (
    codec_of,
    joint_columns,
    kind_of_numbers,
    number_columns,
    picture_columns,
    raw_encoding,
    raw_payload,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinloop.formats.steps.arrays import Array

    Made = tuple[dict[str, pa.Array], Payload | None]

    #: Gives the rows that are being decoded, of one array by its path.
    ReadRows = Callable[[str], Any]

#: Pictures are at least so many pixels a side.
_SMALLEST = 8


class Decoder(Protocol):
    """Makes the columns of a stream. `sources`: the arrays it takes, by their paths within the episode."""

    @property
    def kind(self) -> Kind:
        """The kind of stream."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of arrays."""

    def columns(self, read: ReadRows, rows: int, *, payload: bool) -> Made:
        """Columns of `rows` rows, without times, and their bulk bytes."""


def decoder_for(array: Array, source: str) -> Decoder | None:
    """How a dataset of one sample a row is read, by its type and shape; None: it cannot be."""
    if not array.shape:
        return None
    if array.is_text:
        return Texts(source) if len(array.shape) == 1 else None
    if array.dtype.kind == "O":
        return PackedPictures(source) if len(array.shape) == 1 else None
    if not array.is_number:
        return None
    depth = "depth" in source.lower()
    if (encoding := picture_encoding(array, depth)) is not None:
        return RawPictures(source, array.shape[1:], encoding, depth=encoding in ("16UC1", "32FC1"))
    return Numbers(source, array.shape[1:])


def picture_encoding(array: Array, depth: bool) -> str | None:
    """The encoding of rows that are pictures: (H, W, channels), (channels, H, W), depth also (H, W)."""
    shape = array.shape[1:]
    if len(shape) == 2 and depth:
        shape = (*shape, 1)
    if len(shape) != 3:
        return None
    if shape[0] in (1, 3, 4) and shape[2] not in (1, 3, 4):
        shape = (*shape[1:], shape[0])
    if min(shape[:2]) < _SMALLEST or shape[2] not in (1, 3, 4):
        return None
    encoding = raw_encoding(array.dtype, shape)
    return None if encoding in ("16UC1", "32FC1") and not depth else encoding


@dataclass(frozen=True)
class Numbers:
    """Vectors and scalars."""

    source: str
    shape: tuple[int, ...]
    names: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return kind_of_numbers(self.shape)

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    def columns(self, read: ReadRows, rows: int, *, payload: bool) -> Made:  # noqa: ARG002
        return number_columns(read(self.source), self.names), None


@dataclass(frozen=True)
class Joints:
    """One value a joint; `field` is position, velocity or effort."""

    source: str
    field: str = "position"
    names: tuple[str, ...] = ()
    kind: Kind = Kind.JOINTS

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    def columns(self, read: ReadRows, rows: int, *, payload: bool) -> Made:  # noqa: ARG002
        return joint_columns(read(self.source), self.names, self.field), None


@dataclass(frozen=True)
class RawPictures:
    """Pixels as they are; channels that stand first are put last."""

    source: str
    shape: tuple[int, ...]
    encoding: str
    depth: bool = False

    @property
    def kind(self) -> Kind:
        return Kind.DEPTH if self.depth else Kind.IMAGE

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def channels_first(self) -> bool:
        """Whether rows are (channels, H, W)."""
        return len(self.shape) == 3 and self.shape[0] in (1, 3, 4) and self.shape[2] not in (1, 3, 4)

    @property
    def size(self) -> tuple[int, int]:
        """(height, width)"""
        return self.shape[1:] if self.channels_first else self.shape[:2]  # type: ignore[return-value]

    def columns(self, read: ReadRows, rows: int, *, payload: bool) -> Made:
        height, width = self.size
        each = {"16UC1": 2, "32FC1": 4, "mono8": 1, "rgba8": 4}.get(self.encoding, 3)
        columns = picture_columns(rows, width, height, self.encoding, width * each)
        if not payload:
            return columns, None
        images = read(self.source)
        images = np.moveaxis(images, 1, -1) if self.channels_first else images
        return columns, raw_payload(images.astype(images.dtype.newbyteorder("="), copy=False))


@dataclass(frozen=True)
class PackedPictures:
    """JPEG or PNG in each row: bytes of their own length, or padded with zeros to one length."""

    source: str
    kind: Kind = Kind.IMAGE

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    def columns(self, read: ReadRows, rows: int, *, payload: bool) -> Made:
        data = read(self.source)
        bulk = _padded(data) if data.dtype == np.uint8 else _joined(data)
        encoding = codec_of(bytes(bulk[0][:8])) if rows else ""
        return picture_columns(rows, 0, 0, encoding or "jpeg"), bulk if payload else None


def _padded(data: np.ndarray[Any, np.dtype[np.uint8]]) -> Payload:
    """Rows (N, L) without the zeros at their ends: no JPEG or PNG ends with one."""
    data = np.ascontiguousarray(data.reshape(len(data), -1))
    width = data.shape[1]
    length = np.where(data.any(axis=1), width - np.argmax(data[:, ::-1] != 0, axis=1), 0)
    return Payload(data.reshape(-1), np.arange(len(data)) * width, length.astype(np.int64))


def _joined(data: Any) -> Payload:
    """Rows of their own lengths, one after the other."""
    lengths = np.array([len(row) for row in data], np.int64)
    ends = np.cumsum(lengths)
    joined = np.concatenate([np.asarray(row, np.uint8) for row in data]) if len(data) else np.empty(0, np.uint8)
    return Payload(joined, ends - lengths, lengths)


@dataclass(frozen=True)
class Texts:
    """A text a row."""

    source: str
    kind: Kind = Kind.TEXT

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    def columns(self, read: ReadRows, rows: int, *, payload: bool) -> Made:  # noqa: ARG002
        texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in read(self.source)]
        return {"text": pa.array(texts, pa.string())}, None


@dataclass(frozen=True)
class Table:
    """Several datasets of one number a row side by side, in their own types: column -> dataset."""

    fields: dict[str, str]
    kind: Kind = Kind.TABLE

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self.fields.values())

    def columns(self, read: ReadRows, rows: int, *, payload: bool) -> Made:  # noqa: ARG002
        columns = {name: np.asarray(read(source)) for name, source in self.fields.items()}
        return {
            name: pa.array(np.ascontiguousarray(v.reshape(rows, -1)[:, 0])) for name, v in columns.items()
        }, None
