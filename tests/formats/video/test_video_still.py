"""Still images: compressed ones by their bytes, raw ones by ROS's names."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from twinloop.core.errors import UnreadableError
from twinloop.formats.video.still import decode_still, encode_still, raw_pixels

RANDOM = np.random.default_rng(0)
SMOOTH = np.stack(np.meshgrid(np.arange(40) * 5, np.arange(30) * 6), axis=2).astype(np.uint8)
RGB = np.dstack((SMOOTH, np.full((30, 40), 90, np.uint8)))
DEEP = RANDOM.integers(0, 65536, (30, 40), dtype=np.uint16)


def test_jpeg_is_close_and_png_exact():
    jpeg = decode_still(encode_still(RGB), "jpeg")
    assert jpeg.shape == RGB.shape
    assert np.abs(jpeg.astype(int) - RGB).mean() < 4
    np.testing.assert_array_equal(decode_still(encode_still(RGB, "png"), "png"), RGB)


def test_sixteen_bit_png_is_exact():
    deep = decode_still(encode_still(DEEP, "png"), "png")
    assert deep.dtype == np.uint16
    np.testing.assert_array_equal(deep, DEEP)


def test_compressed_images_are_known_by_their_bytes():
    np.testing.assert_array_equal(decode_still(encode_still(RGB, "png"), "jpeg"), RGB)


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize(
    ("encoding", "order"),
    [
        ("rgb8", (0, 1, 2)),
        ("bgr8", (2, 1, 0)),
        ("8UC3", (2, 1, 0)),
        ("rgba8", (0, 1, 2, 0)),
        ("bgra8", (2, 1, 0, 0)),
    ],
)
def test_colour_orders_and_row_padding(encoding, order, padding):
    stored = np.pad(RGB[:, :, order].reshape(30, -1), ((0, 0), (0, padding)))
    image = decode_still(stored.tobytes(), encoding, 40, 30, stored.shape[1])
    np.testing.assert_array_equal(image, RGB)


@pytest.mark.parametrize("encoding", ["mono16", "16UC1"])
@pytest.mark.parametrize("big", [False, True])
def test_sixteen_bit_gray_of_both_byte_orders(encoding, big):
    data = DEEP.astype(">u2" if big else "<u2").tobytes()
    image = decode_still(memoryview(data), encoding, 40, 30, 80, big)
    assert image.dtype == np.dtype(np.uint16) and image.dtype.isnative
    np.testing.assert_array_equal(image, DEEP)


def test_float_depth_and_eight_bit_gray():
    depth = RANDOM.random((30, 40), dtype=np.float32)
    depth[0, 0] = np.nan
    np.testing.assert_array_equal(decode_still(depth.tobytes(), "32FC1", 40, 30), depth)
    gray = RGB[:, :, 0].copy()
    for name in ("mono8", "8UC1"):
        np.testing.assert_array_equal(decode_still(gray.tobytes(), name, 40, 30), np.dstack([gray] * 3))
    np.testing.assert_array_equal(raw_pixels(gray.tobytes(), "mono8", 40, 30), gray)


@pytest.mark.parametrize(
    ("pattern", "cell"),
    [("rggb", "RGGB"), ("bggr", "BGGR"), ("gbrg", "GBRG"), ("grbg", "GRBG")],
)
@pytest.mark.parametrize("bits", [8, 16])
def test_bayer(pattern, cell, bits):
    value = {"R": 200, "G": 100, "B": 50}
    tile = np.array([value[c] for c in cell]).reshape(2, 2)
    mosaic = np.tile(tile, (4, 5))[:7, :9] << (bits - 8)
    data = mosaic.astype(np.uint8 if bits == 8 else "<u2").tobytes()
    image = decode_still(data, f"bayer_{pattern}{bits}", 9, 7)
    assert image.shape == (7, 9, 3)
    assert (image == (200, 100, 50)).all()


@pytest.mark.parametrize("encoding", ["uyvy", "yuv422", "yuyv", "yuv422_yuy2"])
def test_packed_yuv(encoding):
    red = (81, 90, 240)  # BT.601 limited-range Y, U, V of pure red
    y, u, v = red
    pair = (u, y, v, y) if encoding in ("uyvy", "yuv422") else (y, u, y, v)
    data = bytes(pair) * (6 * 4 // 2)
    image = decode_still(data, encoding, 6, 4)
    assert image.shape == (4, 6, 3)
    np.testing.assert_allclose(image, np.broadcast_to((255, 0, 0), image.shape), atol=2)


@pytest.mark.parametrize("encoding", ["nv12", "nv21", "nv24"])
def test_planar_yuv(encoding):
    y, u, v = 81, 90, 240
    luma = bytes([y]) * 24
    chroma = bytes((v, u) if encoding == "nv21" else (u, v)) * (24 if encoding == "nv24" else 6)
    image = decode_still(luma + chroma, encoding, 6, 4)
    np.testing.assert_allclose(image, np.broadcast_to((255, 0, 0), image.shape), atol=2)


def test_compressed_depth_of_both_kinds():
    png = encode_still(DEEP, "png")
    plain = struct.pack("<iff", 0, 0, 0) + png
    np.testing.assert_array_equal(decode_still(plain, "16UC1; compressedDepth"), DEEP)
    inverse = decode_still(struct.pack("<iff", 0, 100.0, -5.0) + png, "32FC1; compressedDepth")
    hole = DEEP == 0
    np.testing.assert_allclose(inverse[~hole], 100.0 / (DEEP[~hole] + np.float32(5)), rtol=1e-5)
    assert np.isnan(inverse[hole]).all()


@pytest.mark.parametrize(
    ("data", "encoding", "size", "message"),
    [
        (b"123", "rgb8", (40, 30), "has 3 bytes"),
        (b"123", "rgb8", (0, 0), "0 x 0"),
        (b"\xff\xd8\xff", "jpeg", (0, 0), "jpeg image"),
        (b"garbage!", "jpeg", (0, 0), "should be 'jpeg'"),
        (b"garbage!", "thermal99", (4, 4), "should be 'thermal99'"),
    ],
)
def test_bad_bytes_say_what_is_wrong(data, encoding, size, message):
    with pytest.raises(UnreadableError, match=message):
        decode_still(data, encoding, *size)
