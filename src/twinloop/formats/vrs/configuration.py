"""Configuration records: what a stream says of itself before its data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.vrs.container import CONFIGURATION, DamagedError
from twinloop.formats.vrs.content import (
    PIXEL_NUMBERS,
    SAMPLE_FORMATS,
    picture_encoding,
    picture_size,
    record_format,
)
from twinloop.formats.vrs.kinds import Shape
from twinloop.formats.vrs.layout import Block
from twinloop.formats.vrs.unpack import unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.formats.vrs.container import StreamId, Tags, VrsFile
    from twinloop.formats.vrs.content import RecordFormat
    from twinloop.formats.vrs.index import Index

#: A configuration of more bytes than this is not read at opening.
_MOST_BYTES = 4 << 20
_MOST_SIDE = 1 << 20


def read_configuration(file: VrsFile, index: Index, stream: StreamId, tags: Tags) -> dict[str, object]:
    """The fields of a stream's first configuration record; none where it has none that can be read."""
    rows = index.rows(stream, CONFIGURATION)
    if not len(rows):
        return {}
    offset = int(index.offset[rows[0]])
    try:
        header = file.record_at(offset)
        size = min(int(header["size"]), int(index.entries["size"][rows[0]]))
        if size > _MOST_BYTES:
            return {}
        payload = file.read(offset + file.record_header, size - file.record_header)
        unpacked = int(header["uncompressed_size"])
        if int(header["compression"]):
            if unpacked > _MOST_BYTES:
                return {}
            payload = unpack(payload, unpacked, int(header["compression"]))
        format = record_format(tags, CONFIGURATION, int(header["format_version"]))
    except DamagedError:
        return {}
    if not format.layouts or len(payload) < format.layouts[0].head:
        return {}
    block = Block(format.layouts[0], np.frombuffer(payload, np.uint8), np.zeros(1, np.int64))
    if int(block.size[0]) > len(payload):
        return {}
    return {name: block.arrow(name)[0].as_py() for name in block.names}


def shape_of(name: str, format: RecordFormat, configuration: Mapping[str, object]) -> Shape:
    """The constants of a stream's columns, from its format's words and its configuration."""
    bulk = format.bulk
    if bulk is None:
        return Shape(name)
    if bulk.form == "image":
        pixel = _whole(configuration, "image_pixel_format", len(PIXEL_NUMBERS) - 1)
        sides = (_whole(configuration, "image_width"), _whole(configuration, "image_height"))
        width, height = picture_size(bulk) or sides
        encoding = picture_encoding(bulk, PIXEL_NUMBERS[pixel])
        step = int(bulk.value("stride") or 0) if (bulk.value("stride") or "0").isdigit() else 0
        raw = bulk.words[:1] == ("raw",)
        step = step or (_whole(configuration, "image_stride") if raw else 0)
        return Shape(name, width, height, encoding, step=min(step, _MOST_SIDE))
    if bulk.form == "audio":
        formats = [word for word in bulk.words[1:] if word in SAMPLE_FORMATS]
        number = _whole(configuration, "audio_sample_format", len(SAMPLE_FORMATS) - 1)
        encoding = formats[0] if formats else SAMPLE_FORMATS[number]
        rate = _word(bulk.value("rate")) or _whole(configuration, "audio_sample_rate")
        channels = _word(bulk.value("channels")) or _whole(configuration, "audio_channel_count")
        return Shape(name, encoding=f"pcm-{_pcm(encoding)}", sample_rate=rate, channels=channels)
    return Shape(name)


def _pcm(name: str) -> str:
    """VRS's sample formats as the field writes them: ``int32le`` is ``s32le``, ``float32le`` is ``f32le``."""
    return re.sub(r"^uint", "u", re.sub(r"^int", "s", re.sub(r"^float", "f", name)))


def _word(value: str | None) -> int:
    return int(value) if value and value.isdigit() and len(value) < 10 else 0


def _whole(configuration: Mapping[str, object], name: str, most: int = _MOST_SIDE) -> int:
    value = configuration.get(name)
    return value if isinstance(value, int) and 0 <= value <= most else 0
