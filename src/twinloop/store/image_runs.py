"""Which consecutive images go into one video file: those of one encoding and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.store.packets import VIDEO_CODECS, jpeg_size, png_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.core.stream import Payload

#: ROS's raw encodings -> (array layout for the encoder, FFV1's pixel format that holds it exactly).
_LOSSLESS = {
    "rgb8": ("rgb24", "bgr0"),
    "bgr8": ("bgr24", "bgr0"),
    "8uc3": ("bgr24", "bgr0"),
    "rgba8": ("rgba", "bgra"),
    "bgra8": ("bgra", "bgra"),
    "8uc4": ("bgra", "bgra"),
    "mono8": ("gray", "gray"),
    "8uc1": ("gray", "gray"),
    "mono16": ("gray16le", "gray16le"),
    "16uc1": ("gray16le", "gray16le"),
    "rgb16": ("rgb48le", "gbrp16le"),
    "bgr16": ("bgr48le", "gbrp16le"),
    "rgba16": ("rgba64le", "gbrap16le"),
    "yuv422_yuy2": ("yuyv422", "yuv422p"),
    "yuyv": ("yuyv422", "yuv422p"),
    "yuv422": ("yuyv422", "yuv422p"),
    "uyvy": ("yuyv422", "yuv422p"),
}
#: Of those, the ones whose bytes stand in the other order: luma second.
LUMA_SECOND = frozenset({"yuv422", "uyvy"})
#: Longer heads hold a picture of their own or a comment, and are no other image's.
_HEAD_BYTES = 4096
_STILLS = {"jpeg": "mjpeg", "png": "png"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What images must share to be in one file.

    `codec` is FFmpeg's name, ``ffv1`` for raw images; empty where no video file holds them exactly.
    """

    codec: str
    encoding: str
    width: int = 0
    height: int = 0
    step: int = 0
    big_endian: bool = False

    @property
    def layout(self) -> str:
        """Array layout of a raw image."""
        return _LOSSLESS[self.encoding.lower()][0]

    @property
    def pix_fmt(self) -> str:
        """FFV1's pixel format for it."""
        return _LOSSLESS[self.encoding.lower()][1]

    @property
    def depends(self) -> bool:
        """Whether images need the ones before them to be decoded."""
        return self.codec in VIDEO_CODECS.values()


def runs(
    columns: pa.RecordBatch, payload: Payload, images: Sequence[memoryview[Any]]
) -> Iterator[tuple[int, int, Shape | None]]:
    """(start, stop, shape) of consecutive images of one shape; None for rows without a usable image.

    `images` is the payload taken apart.
    """
    if not len(payload):
        return
    encodings, codes = _encodings(columns)
    numbers = np.column_stack(
        [codes, *(_number(columns, name) for name in ("width", "height", "step", "is_bigendian"))]
    )
    kinds = np.array([_still(name) for name in encodings] or [0])[codes]
    numbers[:, 0] = np.where(kinds > 0, -_magic(payload), codes)
    stills = np.flatnonzero((numbers[:, 0] < 0) & (numbers[:, 0] > -3))
    _measure_stills(numbers, stills, images)
    empty = payload.length == 0
    numbers[empty] = (-9, 0, 0, 0, 0)
    cuts = np.flatnonzero((numbers[1:] != numbers[:-1]).any(axis=1)) + 1
    for start, stop in zip([0, *cuts.tolist()], [*cuts.tolist(), len(payload)], strict=True):
        code, width, height, step, big = (int(value) for value in numbers[start])
        if code == -9:
            yield start, stop, None
        elif code < 0:
            name = {-1: "jpeg", -2: "png"}.get(code, encodings[int(codes[start])])
            yield start, stop, Shape(_STILLS[name] if code > -3 else "", name, width, height)
        else:
            yield start, stop, _shape(encodings[code], width, height, step, bool(big))


def _encodings(columns: pa.RecordBatch) -> tuple[list[str], NDArray[np.int64]]:
    """The names of encodings in a batch, and each row's number among them."""
    if "encoding" not in columns.schema.names:
        return [""], np.zeros(columns.num_rows, np.int64)
    import pyarrow as pa

    column = columns.column("encoding")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    names = [name or "" for name in column.dictionary.to_pylist()]
    codes = np.asarray(column.indices.fill_null(len(names)), np.int64)
    return [*names, ""], codes


def _number(columns: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    if name not in columns.schema.names:
        return np.zeros(columns.num_rows, np.int64)
    import pyarrow as pa

    return np.asarray(columns.column(name).cast(pa.int64()).fill_null(0), np.int64)


def _still(encoding: str) -> int:
    """1 for names of still formats, known or not; 0 for raw and video encodings."""
    name = encoding.lower()
    return int(name not in _LOSSLESS and name not in VIDEO_CODECS and not _is_other_raw(name))


def _is_other_raw(name: str) -> bool:
    from twinloop.formats.video.still import is_raw

    return is_raw(name)


def _magic(payload: Payload) -> NDArray[np.int64]:
    """By their first two bytes: 1 JPEG, 2 PNG, 3 anything else."""
    found = np.full(len(payload), 3, np.int64)
    long_enough = payload.length >= 2
    first = payload.buffer[payload.offset[long_enough]].astype(np.int64)
    second = payload.buffer[payload.offset[long_enough] + 1].astype(np.int64)
    mark = first << 8 | second
    found[long_enough] = np.where(mark == 0xFFD8, 1, np.where(mark == 0x8950, 2, 3))
    return found


def _measure_stills(
    numbers: NDArray[np.int64], rows: NDArray[np.int64], images: Sequence[memoryview[Any]]
) -> None:
    """Sizes from the images themselves; what messages say of them does not count.

    One encoder's images begin with the same bytes up to their size, so most are told by one comparison.
    """
    numbers[rows, 3:] = 0
    head, size = b"", (0, 0)
    widths, heights = [], []
    for row, is_jpeg in zip(rows.tolist(), (numbers[rows, 0] == -1).tolist(), strict=True):
        image = images[row]
        if not head or image[: len(head)] != head:
            width, height, end = jpeg_size(image) if is_jpeg else png_size(image)
            head, size = bytes(image[:end]) if end <= _HEAD_BYTES else b"", (width, height)
        widths.append(size[0])
        heights.append(size[1])
    numbers[rows, 1], numbers[rows, 2] = widths, heights


def _shape(encoding: str, width: int, height: int, step: int, big_endian: bool) -> Shape:
    name = encoding.lower()
    if name in VIDEO_CODECS:
        return Shape(VIDEO_CODECS[name], encoding)
    codec = "ffv1" if name in _LOSSLESS and width > 0 and height > 0 else ""
    return Shape(codec, encoding, width, height, step, big_endian)
