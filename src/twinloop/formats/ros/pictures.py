"""What compressed images say of themselves: codec, the header before depth images, the format field.

``sensor_msgs/CompressedImage.format`` is free text: image_transport writes ``rgb8; jpeg compressed bgr8`` and
``16UC1; compressedDepth png``, others ``jpeg``, ``png`` or ``h264``. Depth images carry the 12-byte
`ConfigHeader` of compressed_depth_image_transport (an enum and two float32: the quantisation of inverse
depth) before the PNG; `depth_quant_a` and `depth_quant_b` keep its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from twinloop.formats.ros.columns import UnfitError, code_array
from twinloop.formats.ros.definitions import Text
from twinloop.formats.ros.gather import gather

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from twinloop.formats.ros.columns import Bound
    from twinloop.formats.ros.plan import Leaf, Plan
    from twinloop.formats.ros.rows import Rows

    Places = tuple[NDArray[np.int64], NDArray[np.int64]]

DEPTH_HEADER_BYTES = 12
_DEPTH_MARK = "compressedDepth"
_SYNONYMS = {"jpg": "jpeg", "mjpeg": "jpeg", "hevc": "h265", "avc": "h264", "compresseddepth": "png"}
_MAGIC = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"RIFF": "webp", b"\x00\x00\x00\x01": "h264"}


def codec_of(format: str) -> str:
    """The codec that a format field names; empty where it names none.

    >>> codec_of("rgb8; jpeg compressed bgr8"), codec_of("16UC1; compressedDepth"), codec_of("H264")
    ('jpeg', 'png', 'h264')
    """
    words = format.rsplit(";", 1)[-1].lower().split()
    if not words:
        return ""
    word = words[1] if words[0] == _DEPTH_MARK.lower() and len(words) > 1 else words[0]
    return _SYNONYMS.get(word, word)


def is_depth_format(format: str) -> bool:
    """Whether a format field tells of a depth image with its header."""
    return _DEPTH_MARK in format


def is_depth_encoding(encoding: str, frame_id: str) -> bool:
    """Whether raw images of this encoding are depth; mono16 is where the frame's name says so."""
    return encoding in ("16UC1", "32FC1") or (encoding == "mono16" and "depth" in frame_id.lower())


@dataclass(frozen=True, slots=True)
class Codec:
    """Column `encoding` from a format field, or from the first bytes where that names no codec."""

    format: str = "format"
    data: str = "data"
    paths: ClassVar[tuple[str, ...]] = ()

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        format, data = _leaves(plan, self.format, self.data)

        def column(rows: Rows, count: int) -> pa.Array:
            texts = rows.vocabularies[format.node].array().to_pylist()
            codes = rows.codes[format.node]
            names = [codec_of(text) for text in texts]
            for code in np.unique(codes):
                if not names[code]:
                    names[code] = _sniff(rows, data, int(np.argmax(codes == code)))
            known = sorted(set(names))
            renumbered = np.array([known.index(name) for name in names], np.int32)
            return code_array(renumbered[codes] if count else codes, pa.array(known, pa.string()))

        return column


@dataclass(frozen=True, slots=True)
class DepthQuantum:
    """Columns `depth_quant_a` (0) and `depth_quant_b` (1): null but for depth images with a header."""

    number: int
    format: str = "format"
    data: str = "data"
    paths: ClassVar[tuple[str, ...]] = ()

    def bind(self, plan: Plan, row_level: int, wanted: pa.DataType | None) -> Bound:
        format, data = _leaves(plan, self.format, self.data)

        def column(rows: Rows, count: int) -> pa.Array:
            with_header = _with_header(rows, format, data)
            if not with_header.any():
                return pa.nulls(count, pa.float32())
            values = np.zeros(count, "<f4")
            start = rows.blobs[data.node][0][with_header] + 4 * (1 + self.number)
            values[with_header] = gather(rows.buffer, start, 4).view("<f4")[:, 0]
            return pa.array(values, mask=~with_header)

        return column


def bind_payload(plan: Plan, data: str, format: str | None) -> Callable[[Rows], Places]:
    """Gives where the images' bytes are: (start, length), each (rows,), depth headers left out."""
    leaf = plan.leaves.get(data)
    if leaf is None or not leaf.is_blob or leaf.level:
        raise UnfitError(data)
    if format is None:
        return lambda rows: rows.blobs[leaf.node]
    format_leaf, _ = _leaves(plan, format, data)

    def places(rows: Rows) -> Places:
        start, length = rows.blobs[leaf.node]
        skip = np.where(_with_header(rows, format_leaf, leaf), DEPTH_HEADER_BYTES, 0)
        return start + skip, length - skip

    return places


def _leaves(plan: Plan, format: str, data: str) -> tuple[Leaf, Leaf]:
    text, blob = plan.leaves.get(format), plan.leaves.get(data)
    if text is None or blob is None or not isinstance(text.type, Text) or not blob.is_blob:
        raise UnfitError(f"{format}, {data}")
    return text, blob


def _with_header(rows: Rows, format: Leaf, data: Leaf) -> NDArray[np.bool_]:
    texts = rows.vocabularies[format.node].array().to_pylist()
    is_depth = np.array([is_depth_format(text) for text in texts], bool)
    if not is_depth.any():
        return np.zeros(len(rows), bool)
    return is_depth[rows.codes[format.node]] & (rows.blobs[data.node][1] >= DEPTH_HEADER_BYTES)


def _sniff(rows: Rows, data: Leaf, row: int) -> str:
    start, length = (int(values[row]) for values in rows.blobs[data.node])
    head = rows.buffer[start : start + min(length, 8)].tobytes()
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")
