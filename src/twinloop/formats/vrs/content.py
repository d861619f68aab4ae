"""What a record is made of: the text of a stream's tag ``RF:Data:2`` as blocks.

``data_layout/size=84+image/jpg`` is a block of fields and a picture. Facts: `RecordFormat.h` of
facebookresearch/vrs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from twinloop.formats.vrs.container import CONFIGURATION, DATA, STATE, DamagedError
from twinloop.formats.vrs.layout import Layout, parse_layout

if TYPE_CHECKING:
    from twinloop.formats.vrs.container import Tags

_NAMES = {STATE: "State", CONFIGURATION: "Configuration", DATA: "Data"}
#: VRS's names of raw pixels, as the other readers name them.
PIXELS = {
    "grey8": "mono8",
    "grey16": "mono16",
    "depth32f": "32FC1",
    "bayer8_rggb": "bayer_rggb8",
    "yuv_i420_split": "i420",
    "yuy2": "yuv422_yuy2",
    "scalar64F": "64FC1",
}
#: Pixels by the numbers that configuration records give (`PixelFormat`).
PIXEL_NUMBERS = (
    *("undefined", "grey8", "bgr8", "depth32f", "rgb8", "yuv_i420_split", "rgba8", "rgb10", "rgb12", "grey10"),
    *("grey12", "grey16", "rgb32F", "scalar64F", "yuy2", "rgb_ir_4x4", "rgba32F", "bayer8_rggb", "raw10"),
    "raw10_bayer_rggb",
)
#: Sound by the numbers that configuration records give (`AudioSampleFormat`).
SAMPLE_FORMATS = (
    *("undefined", "int8", "uint8", "uint8alaw", "uint8mulaw", "int16le", "uint16le", "int16be", "uint16be"),
    *("int24le", "uint24le", "int24be", "uint24be", "int32le", "uint32le", "int32be", "uint32be", "float32le"),
    *("float32be", "float64le", "float64be"),
)
_VIDEO = {"H.264": "h264", "AVC": "h264", "H.265": "h265", "HEVC": "h265", "AV1": "av1"}


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """One block: ``data_layout``, ``image``, ``audio``, ``custom``; its declared size; its other words."""

    form: str
    size: int | None = None
    words: tuple[str, ...] = ()
    layout: Layout | None = None

    def value(self, name: str) -> str | None:
        """The value of a word ``name=value``."""
        return next((word.partition("=")[2] for word in self.words if word.startswith(f"{name}=")), None)


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """The blocks of a stream's records of one kind and version. The last block that is no layout is `bulk`."""

    blocks: tuple[BlockSpec, ...] = field(default=())

    @property
    def bulk(self) -> BlockSpec | None:
        return next((block for block in self.blocks if block.form != "data_layout"), None)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts before the bulk."""
        return tuple(block.layout for block in self.blocks if block.layout is not None)


def record_format(tags: Tags, record_type: int, version: int) -> RecordFormat:
    """The format of a stream's records of one kind and version.

    Raises:
        DamagedError: the tags do not define it, or not in a way that can be read.
    """
    kind = _NAMES[record_type]
    text = tags.vrs.get(f"RF:{kind}:{version}")
    if text is None:
        raise DamagedError(f"the tags define no records {kind} of version {version}")
    blocks = []
    for number, part in enumerate(text.split("+")):
        form, *words = part.split("/")
        size = next((int(word[5:]) for word in words if word.startswith("size=") and word[5:].isdigit()), None)
        words = [word for word in words if not word.startswith("size=")]
        layout = None
        if form == "data_layout":
            definition = tags.vrs.get(f"DL:{kind}:{version}:{number}")
            if definition is None:
                raise DamagedError(
                    f"the tags define no layout of block {number} of {kind} of version {version}"
                )
            layout = parse_layout(definition)
        if form != "empty":
            blocks.append(BlockSpec(form, size, tuple(words), layout))
    others = [number for number, block in enumerate(blocks) if block.layout is None]
    if others and others != [len(blocks) - 1]:
        raise DamagedError(
            f"records of the form {text!r} are not read", expected="layouts, then one block of bytes"
        )
    return RecordFormat(tuple(blocks))


def picture_encoding(block: BlockSpec, pixels: str) -> str:
    """The encoding of a picture in the words of the other readers; `pixels` where the tag names none."""
    form = block.words[0] if block.words else ""
    if form in ("jpg", "png"):
        return "jpeg" if form == "jpg" else form
    if form == "video":
        codec = unquote(block.value("codec") or "")
        return _VIDEO.get(codec.upper(), codec.lower() or "video")
    if form == "custom_codec":
        return unquote(block.value("codec") or form)
    name = block.value("pixel") or pixels
    return PIXELS.get(name, name)


def picture_size(block: BlockSpec) -> tuple[int, int] | None:
    """(width, height) px, where the tag declares them."""
    for word in block.words[1:]:
        width, mark, height = word.partition("x")
        if mark and width.isdigit() and height.isdigit():
            return int(width), int(height)
    return None
