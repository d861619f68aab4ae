"""Still images: JPEG and PNG through FFmpeg, raw pixels in ROS's encodings through numpy.

ROS's names and layouts: sensor_msgs/image_encodings.hpp; compressedDepth: compressed_depth_image_transport.
"""

from __future__ import annotations

import re
import struct
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from twinloop.core.errors import UnreadableError
from twinloop.formats.video.pixels import to_pixels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.float32]

#: First bytes of the compressed formats -> FFmpeg's decoder.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8", "mjpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"RIFF", "webp"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"BM", "bmp"),
)
#: Where red lies in each 2x2 cell (row, column); blue lies opposite.
_RED: dict[str, tuple[int, int]] = {"rggb": (0, 0), "grbg": (0, 1), "gbrg": (1, 0), "bggr": (1, 1)}
_NAMED = {
    "rgb8": (np.uint8, 3),
    "bgr8": (np.uint8, 3),
    "rgba8": (np.uint8, 4),
    "bgra8": (np.uint8, 4),
    "mono8": (np.uint8, 1),
    "rgb16": (np.uint16, 3),
    "bgr16": (np.uint16, 3),
    "rgba16": (np.uint16, 4),
    "bgra16": (np.uint16, 4),
    "mono16": (np.uint16, 1),
}
_TYPES = {"8U": "u1", "8S": "i1", "16U": "u2", "16S": "i2", "32S": "i4", "32F": "f4", "64F": "f8"}
_YUV = {"uyvy": "uyvy", "yuv422": "uyvy", "yuyv": "yuyv", "yuv422_yuy2": "yuyv", "yuy2": "yuyv"}
_PLANAR = {"nv21": "nv21", "nv24": "nv24", "nv12": "nv12", "i420": "yuv420p"}


def decode_still(
    data: memoryview[Any] | bytes,
    encoding: str,
    width: int = 0,
    height: int = 0,
    step: int = 0,
    big_endian: bool = False,
) -> Pixels:
    """One still image as pixels that a person or a model can look at.

    RGB uint8 (H, W, 3) for everything of 8 bits (8-bit gray repeated, alpha dropped, `bayer_*` demosaiced,
    colour of 16 bits cut to its upper 8); uint16 (H, W), bit-exact, for gray of 16 bits; float32 (H, W)
    for ``32FC1`` and ``64FC1``. Signed 16-bit gray keeps its bits (two's complement) in the uint16;
    32-bit gray is clipped to it. ``8UC3`` says no order: blue first, as OpenCV holds it.

    Demosaicing is the plainest there is: each 2x2 cell's red, mean green and blue fill the cell.

    Args:
        data: the bytes. Compressed images are known by their first bytes, whatever `encoding` says.
        encoding: ``jpeg``, ``png``..., or a raw ROS encoding.
        width, height: in pixels; needed for raw ones only.
        step: bytes a row, 0: no padding. big_endian: byte order of raw pixels of more than 8 bits.

    Raises:
        UnreadableError: the bytes do not decode, are too few, or the encoding is unknown.
    """
    if is_raw(encoding):
        return _viewable(raw_pixels(data, encoding, width, height, step, big_endian), encoding)
    if "compresseddepth" in encoding.lower():
        return _compressed_depth(data)
    return _compressed(data, encoding)


def is_raw(encoding: str) -> bool:
    """Whether `encoding` is one of ROS's raw ones (and not a compressed format)."""
    name = encoding.lower()
    return (
        name in _NAMED
        or name in _YUV
        or name in _PLANAR
        or _bayer(name) is not None
        or _matrix(encoding) is not None
    )


def raw_pixels(
    data: memoryview[Any] | bytes,
    encoding: str,
    width: int,
    height: int,
    step: int = 0,
    big_endian: bool = False,
) -> NDArray[Any]:
    """Raw pixels as stored, in native byte order: (H, W) or (H, W, channels) of the encoding's own type.

    Bayer patterns come as (H, W), packed YUV 4:2:2 as (H, W, 2) uint8, planar YUV as (rows, W) uint8.
    A view into `data` where rows are unpadded and in native byte order.

    Raises:
        UnreadableError: unknown encoding, or fewer bytes than the size asks for.
    """
    name = encoding.lower()
    dtype, channels = _layout(encoding)
    rows = height
    if name in _PLANAR:
        rows = height * 3 if _PLANAR[name] == "nv24" else height * 3 // 2
    row_bytes = width * channels * dtype.itemsize
    step = step or row_bytes
    if width <= 0 or height <= 0 or step < row_bytes:
        raise UnreadableError(
            f"an image of {width} x {height} {encoding} cannot have {step} bytes a row",
            expected=f"a positive size and at least {row_bytes} bytes a row",
        )
    needed = step * (rows - 1) + row_bytes
    buffer = np.frombuffer(data, np.uint8)
    if len(buffer) < needed:
        raise UnreadableError(
            f"an image of {width} x {height} {encoding} has {len(buffer)} bytes", expected=f"{needed} bytes"
        )
    lines = np.lib.stride_tricks.as_strided(buffer, (rows, row_bytes), (step, 1), writeable=False)
    typed = np.ascontiguousarray(lines).view(dtype.newbyteorder(">" if big_endian else "<"))
    pixels = typed.astype(dtype.newbyteorder("="), copy=False)
    return pixels.reshape(rows, width, channels) if channels > 1 else pixels


def encode_still(image: NDArray[np.uint8] | NDArray[np.uint16], encoding: str = "jpeg") -> bytes:
    """RGB uint8 (H, W, 3) as JPEG (quality of FFmpeg's q=3) or PNG; uint16 (H, W) as 16-bit PNG."""
    import av

    deep = image.dtype == np.uint16
    if deep and encoding != "png":
        raise UnreadableError("16-bit gray fits into no JPEG", expected="encoding png")
    codec, pix_fmt = ("png", "gray16be" if deep else "rgb24") if encoding == "png" else ("mjpeg", "yuvj420p")
    pixels: NDArray[Any] = np.ascontiguousarray(image)
    picture = av.VideoFrame.from_ndarray(pixels, "gray16le" if deep else "rgb24")
    encoder = cast("av.VideoCodecContext", av.CodecContext.create(codec, "w"))
    encoder.thread_count = 1
    encoder.width, encoder.height = picture.width, picture.height
    encoder.pix_fmt, encoder.time_base = pix_fmt, Fraction(1)
    if codec == "mjpeg":
        encoder.options = {"qmin": "3", "qmax": "3"}
        picture = picture.reformat(format=pix_fmt, dst_color_range="JPEG", threads=1)
    else:
        picture = picture.reformat(format=pix_fmt, threads=1)
    picture.pts = 0
    return b"".join(bytes(packet) for packet in (*encoder.encode(picture), *encoder.encode(None)))


@lru_cache(maxsize=64)
def _bayer(name: str) -> tuple[tuple[int, int], int] | None:
    """(where red is, bits) of a bayer encoding."""
    match = re.fullmatch(r"bayer_(rggb|grbg|gbrg|bggr)(8|16)", name)
    return (_RED[match[1]], int(match[2])) if match else None


@lru_cache(maxsize=64)
def _matrix(encoding: str) -> tuple[str, int] | None:
    """(type, channels) of OpenCV's names such as ``16UC1``, with ``8U`` meaning one channel."""
    match = re.fullmatch(r"(8U|8S|16U|16S|32S|32F|64F)(?:C(\d{1,2}))?", encoding.upper())
    return (match[1], int(match[2] or 1)) if match and match[2] != "0" else None


def _layout(encoding: str) -> tuple[np.dtype[Any], int]:
    name = encoding.lower()
    if name in _NAMED:
        kind, channels = _NAMED[name]
        return np.dtype(kind), channels
    if bayer := _bayer(name):
        return np.dtype(np.uint8 if bayer[1] == 8 else np.uint16), 1
    if name in _YUV:
        return np.dtype(np.uint8), 2
    if name in _PLANAR:
        return np.dtype(np.uint8), 1
    if matrix := _matrix(encoding):
        return np.dtype(_TYPES[matrix[0]]), matrix[1]
    raise UnreadableError(
        f"there is no image encoding {encoding!r} here",
        expected="jpeg, png, or one of ROS's: rgb8, bgr8, rgba8, bgra8, mono8, mono16, 8UC1, 8UC3, 16UC1, "
        "32FC1, bayer_rggb8, yuv422, yuv422_yuy2...",
    )


def _viewable(pixels: NDArray[Any], encoding: str) -> Pixels:
    """Raw pixels as RGB uint8, uint16 gray or float32."""
    name = encoding.lower()
    if bayer := _bayer(name):
        eight = pixels if bayer[1] == 8 else (pixels >> 8).astype(np.uint8)
        return _demosaic(eight, bayer[0])
    if name in _YUV or name in _PLANAR:
        return _from_yuv(pixels, name)
    if pixels.dtype.kind == "f":
        return np.asarray(pixels if pixels.ndim == 2 else pixels[:, :, 0], np.float32)
    if pixels.ndim == 2:
        if pixels.dtype.itemsize == 1:
            return np.repeat(pixels.view(np.uint8)[:, :, None], 3, axis=2)
        if pixels.dtype.itemsize == 2:
            return pixels.view(np.uint16)
        return np.clip(pixels, 0, 65535).astype(np.uint16)
    if pixels.dtype == np.uint16:
        pixels = (pixels >> 8).astype(np.uint8)
    colour = pixels[:, :, :3] if pixels.shape[2] >= 3 else np.repeat(pixels[:, :, :1], 3, axis=2)
    if not name.startswith("rgb"):
        colour = colour[:, :, ::-1]
    return np.ascontiguousarray(colour.astype(np.uint8, copy=False))


def _demosaic(cells: NDArray[np.uint8], red: tuple[int, int]) -> NDArray[np.uint8]:
    """Each 2x2 cell filled with its red, mean green and blue. A last odd row or column gets its neighbour's."""
    height, width = cells.shape
    even = np.pad(cells, ((0, height % 2), (0, width % 2)), mode="reflect" if min(cells.shape) > 1 else "edge")
    row, column = red
    small = np.empty((even.shape[0] // 2, even.shape[1] // 2, 3), np.uint8)
    small[:, :, 0] = even[row::2, column::2]
    small[:, :, 2] = even[1 - row :: 2, 1 - column :: 2]
    green = even[row::2, 1 - column :: 2].astype(np.uint16) + even[1 - row :: 2, column::2]
    small[:, :, 1] = green >> 1
    return small.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]


def _from_yuv(pixels: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    """RGB of packed 4:2:2 (H, W, 2) or planar YUV (rows, W): BT.601, limited range, as cameras send it."""
    if name in _YUV:
        y, c = (1, 0) if _YUV[name] == "uyvy" else (0, 1)
        luma = pixels[:, :, y]
        chroma = pixels[:, : pixels.shape[1] // 2 * 2, c]
        blue, red = (chroma[:, k::2].repeat(2, axis=1) for k in (0, 1))
        if luma.shape[1] > blue.shape[1]:  # an odd width leaves its last column without a red difference
            blue, red = (np.pad(plane, ((0, 0), (0, 1)), mode="edge") for plane in (blue, red))
    else:
        layout = _PLANAR[name]
        height = len(pixels) // 3 if layout == "nv24" else len(pixels) * 2 // 3
        width = pixels.shape[1]
        luma, rest = pixels[:height], pixels[height:].reshape(-1)
        if layout == "nv24":
            blue, red = (rest[k::2].reshape(height, width) for k in (0, 1))
        elif layout == "yuv420p":
            quarter = len(rest) // 2
            halves = (rest[:quarter], rest[quarter : 2 * quarter])
            blue, red = (_doubled(half.reshape(height // 2, -1), height, width) for half in halves)
        else:
            first, second = (_doubled(rest[k::2].reshape(height // 2, -1), height, width) for k in (0, 1))
            blue, red = (second, first) if layout == "nv21" else (first, second)
    scaled = (luma.astype(np.int32) - 16) * 298
    u, v = blue.astype(np.int32) - 128, red.astype(np.int32) - 128
    rgb = np.stack((scaled + 409 * v, scaled - 100 * u - 208 * v, scaled + 516 * u), axis=2)
    return np.clip((rgb + 128) >> 8, 0, 255).astype(np.uint8)


def _doubled(plane: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    return plane.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]


def _compressed(data: memoryview[Any] | bytes, encoding: str) -> Pixels:
    import av

    head = bytes(data[:8])
    decoder = next((name for magic, name in _MAGIC if head.startswith(magic)), None)
    if decoder is None:
        raise UnreadableError(
            f"an image that should be {encoding!r} starts with {head!r}",
            expected="JPEG, PNG, WebP, TIFF or BMP, or a raw encoding",
        )
    context = cast("av.VideoCodecContext", av.CodecContext.create(decoder, "r"))
    context.thread_count = 1  # one picture: threads would only hold it back
    try:
        pictures = [*context.decode(av.Packet(bytes(data))), *context.decode(None)]
    except av.FFmpegError as failure:
        raise UnreadableError(f"a {encoding} image does not decode: {failure.strerror}") from failure
    if not pictures:
        raise UnreadableError(f"a {encoding} image of {len(data)} bytes decodes to nothing")
    return to_pixels(pictures[0])


def _compressed_depth(data: memoryview[Any] | bytes) -> Pixels:
    """ROS's compressedDepth: 12 bytes (int32 format, float32 A and B), then a 16-bit PNG.

    For 32FC1 sources the PNG holds inverse depth: depth = A / (value - B); 0 is no measurement (NaN).
    """
    png = bytes(data[12:])
    if not png.startswith(_MAGIC[1][0]):
        raise UnreadableError(
            "compressedDepth without a PNG", expected="a PNG after 12 bytes (RVL is not read)"
        )
    kind, a, b = struct.unpack("<iff", bytes(data[:12]))
    pixels = _compressed(png, "png")
    if kind != 0 or a == 0 or pixels.dtype != np.uint16:
        return pixels
    with np.errstate(divide="ignore"):
        depth = np.float32(a) / (pixels.astype(np.float32) - np.float32(b))
    return np.where(pixels == 0, np.float32(np.nan), depth)
