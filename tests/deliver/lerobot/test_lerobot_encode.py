"""Re-encoded rows show the images they should, in colours that stay, at their times."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import av
import numpy as np
import pytest
from export_lab import X264, at_rate, number_of

from twinloop.core.errors import UnknownNameError, UnreadableError
from twinloop.deliver.images import read_images
from twinloop.deliver.lerobot.encode import encode_rows, encoder_for
from twinloop.formats.video.probe import packet_index
from twinloop.testing.memory import MemoryRecording


def table_of(lab, videos, count):
    return read_images(MemoryRecording([lab.camera(videos, at_rate(count, 30.0))]), "camera")


def encoded(table, images, path, codec="h264", **options):
    broken = encode_rows(table, np.array(images), path, 30, encoder_for(codec), cache(packet_index), **options)
    with av.open(str(path)) as container:
        pictures = [picture.to_ndarray(format="rgb24") for picture in container.decode(video=0)]
    return broken, pictures


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_rows_repeat_and_skip_images(lab, tmp_path, codec):
    images = [3, 3, 3, 4, 7, 8, 8, 19, 23]
    broken, pictures = encoded(table_of(lab, [lab.video("a.mp4", 24)], 24), images, tmp_path / "o.mp4", codec)
    assert [number_of(picture) for picture in pictures] == images
    assert not broken.any()
    index = packet_index(tmp_path / "o.mp4")
    assert not index.has_b_frames
    assert index.pix_fmt == "yuv420p"
    assert np.diff(np.flatnonzero(index.keyframe), append=len(index)).max() <= 2


def test_rows_go_on_in_the_next_file(lab, tmp_path):
    table = table_of(lab, [lab.video("a.mp4", 10), lab.video("b.mkv", 10, first=10)], 20)
    _, pictures = encoded(table, list(range(5, 16)), tmp_path / "o.mp4")
    assert [number_of(picture) for picture in pictures] == list(range(5, 16))


def test_images_in_another_order_than_their_times_are_found(lab, tmp_path):
    table = table_of(lab, [lab.video("a.mp4", 10)], 10)
    swapped = replace(table, pts=table.pts[[0, 1, 3, 2, 4, 5, 6, 7, 8, 9]])
    _, pictures = encoded(swapped, range(10), tmp_path / "o.mp4")
    assert [number_of(picture) for picture in pictures] == [0, 1, 3, 2, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("encoder", "options", "pix_fmt"),
    [
        ("mjpeg", {"strict": "unofficial", "q": "2"}, "yuvj420p"),
        ("ffv1", {}, "bgr0"),
        ("libx264", X264, "yuv444p"),
        ("ffv1", {}, "gray"),
        ("libx264", X264, "yuvj420p"),
    ],
)
def test_colours_stay_whatever_the_format(lab, tmp_path, encoder, options, pix_fmt):
    table = table_of(lab, [lab.video("a.mkv", 6, encoder, options, pix_fmt)], 6)
    _, pictures = encoded(table, range(6), tmp_path / "o.mp4")
    for number, picture in enumerate(pictures):
        shown = picture[12:, 12:].mean(axis=(0, 1))
        assert np.abs(shown - lab.pixels(number)[20, 20]).max() < 4


def test_saturated_colours_keep_their_hue(lab, tmp_path):
    lab.pixels = lambda number, deep=False: np.broadcast_to(
        np.array([(200, 30, 30), (30, 200, 30), (30, 30, 200)][number], np.uint8), (48, 64, 3)
    ).copy()
    table = table_of(lab, [lab.video("a.mkv", 3, "ffv1", {}, "bgr0")], 3)
    _, pictures = encoded(table, range(3), tmp_path / "o.mp4")
    for number, picture in enumerate(pictures):
        assert np.abs(picture.mean(axis=(0, 1)) - lab.pixels(number)[0, 0]).max() < 6


def test_odd_sizes_lose_their_last_row_and_column(lab, tmp_path):
    lab.width, lab.height = 65, 49
    table = table_of(lab, [lab.video("a.mkv", 3, "ffv1", {}, "bgr0")], 3)
    _, pictures = encoded(table, range(3), tmp_path / "o.mp4")
    assert pictures[0].shape == (48, 64, 3)
    assert [number_of(picture) for picture in pictures] == [0, 1, 2]


def damage(path, images):
    """Overwrite the bytes of some images."""
    index = packet_index(path)
    content = bytearray(path.read_bytes())
    for image in images:
        start, size = int(index.position[image]), int(index.size[image])
        content[start : start + size] = bytes(size)
    path.write_bytes(content)


def test_an_image_that_does_not_decode_shows_the_one_before_and_is_told(lab, tmp_path):
    video = lab.video("a.mp4", 8, "mjpeg", {"strict": "unofficial"}, "yuvj420p")
    damage(video, [0, 4])
    broken, pictures = encoded(table_of(lab, [video], 8), range(8), tmp_path / "o.mp4")
    assert np.flatnonzero(broken).tolist() == [0, 4]
    assert [number_of(picture) for picture in pictures] == [1, 1, 2, 3, 3, 5, 6, 7]


def test_no_image_that_decodes_is_an_error_naming_the_file(lab, tmp_path):
    video = lab.video("a.mp4", 3, "mjpeg", {"strict": "unofficial"}, "yuvj420p")
    damage(video, range(3))
    with pytest.raises(UnreadableError, match=r"none of the images.*\n.*a\.mp4"):
        encoded(table_of(lab, [video], 3), range(3), tmp_path / "o.mp4")


def test_unknown_codecs_are_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="av1, h264, hevc"):
        encoder_for("vp9")
