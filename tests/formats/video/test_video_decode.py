"""Images come back by their exact pts, from every codec that recordings use."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from clips import depth_image, number_of, numbered, write_clip

from twinloop.core.errors import UnreadableError
from twinloop.formats.video.decode import decode_images
from twinloop.formats.video.mp4_header import mp4_header
from twinloop.formats.video.probe import packet_index, video_header

COUNT = 40
COLOUR = [
    ("libx264", "mp4", "yuv420p", "h264"),
    ("libx264", "mkv", "yuv420p", "h264"),
    ("libx265", "mp4", "yuv420p", "hevc"),
    ("libsvtav1", "mp4", "yuv420p", "av1"),
    ("libvpx-vp9", "mkv", "yuv420p", "vp9"),
    ("mjpeg", "mkv", "yuvj420p", "mjpeg"),
    ("mjpeg", "mp4", "yuvj420p", "mjpeg"),
    ("ffv1", "mkv", "yuv420p", "ffv1"),
]


@pytest.fixture(scope="module", params=COLOUR, ids=lambda p: f"{p[0]}-{p[1]}")
def clip(request, tmp_path_factory):
    codec, suffix, pix_fmt, name = request.param
    path = tmp_path_factory.mktemp("clip") / f"video.{suffix}"
    write_clip(path, (numbered(k) for k in range(COUNT)), codec, pix_fmt)
    return path, name


def test_header_names_codec_size_and_rate(clip):
    path, codec = clip
    header = video_header(path)
    assert (header.codec, header.width, header.height) == (codec, 96, 64)
    assert header.rate_hz == pytest.approx(30, rel=0.01)
    assert header.images in (COUNT, None)


def test_the_brief_header_of_mp4_says_the_same(clip):
    path, _ = clip
    header, brief = video_header(path), mp4_header(path)
    if path.suffix == ".mkv":
        assert brief is None
        return
    assert (brief.width, brief.height, brief.images) == (header.width, header.height, COUNT)
    assert Fraction(1, brief.timescale) == header.time_base


def test_the_brief_header_of_damaged_files_is_none_or_sane(tmp_path):
    path = tmp_path / "clip.mp4"
    write_clip(path, (numbered(k) for k in range(5)))
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(whole[: random.integers(len(whole))] if random.random() < 0.3 else whole)
        for at in random.integers(0, max(1, len(data)), 40 if len(data) else 0):
            data[at] = random.integers(256)
        path.write_bytes(data)
        mp4_header(path)


def test_packets_are_counted_without_decoding(clip):
    path, codec = clip
    index = packet_index(path)
    assert len(index) == COUNT
    assert index.keyframe[0]
    assert (np.diff(index.images) > 0).all()
    assert index.has_b_frames == (codec == "h264" or index.has_b_frames)
    assert index.size.sum() <= path.stat().st_size
    assert not index.error


def test_h264_has_b_frames_and_display_order(tmp_path):
    path = tmp_path / "b.mp4"
    write_clip(path, (numbered(k) for k in range(COUNT)))
    index = packet_index(path)
    assert index.has_b_frames
    assert index.keyframe.sum() > 2


def test_each_image_is_the_one_of_its_pts(clip):
    path, _ = clip
    index = packet_index(path)
    got = {row: number_of(image) for row, image in decode_images(index.header.segment(), index.images)}
    assert got == {k: k for k in range(COUNT)}


def test_far_apart_backward_and_repeated_rows(clip):
    path, _ = clip
    index = packet_index(path)
    wanted = np.array([39, 3, 17, 3, 0, 25])
    got = list(decode_images(index.header.segment(), index.images[wanted]))
    assert sorted((row, number_of(image)) for row, image in got) == list(enumerate(wanted))
    assert [number_of(image) for _, image in got] == sorted(wanted)


def test_every_single_image_on_its_own(clip):
    path, _ = clip
    index = packet_index(path)
    segment = index.header.segment()
    for k in range(0, COUNT, 3):
        ((_, image),) = decode_images(segment, index.images[k : k + 1])
        assert number_of(image) == k


@pytest.mark.parametrize(
    ("name", "options", "muxer"),
    [
        ("fragmented.mp4", {}, {"movflags": "frag_keyframe+empty_moov+default_base_moof"}),
        ("open_groups.mkv", {"x264-params": "open-gop=1:keyint=12:bframes=3"}, {}),
        ("stream.ts", {}, {}),
    ],
)
def test_seeking_where_containers_seek_badly(tmp_path, name, options, muxer):
    path = tmp_path / name
    write_clip(path, (numbered(k) for k in range(COUNT)), options=options, muxer=muxer)
    index = packet_index(path)
    segment = index.header.segment()
    for k in range(COUNT):
        ((_, image),) = decode_images(segment, index.images[k : k + 1])
        assert number_of(image) == k


def test_irregular_times_are_exact_in_matroska_and_mp4(tmp_path):
    times = np.cumsum(np.random.default_rng(1).integers(20, 90, COUNT))
    for name in ("irregular.mkv", "irregular.mp4"):
        path = tmp_path / name
        write_clip(path, (numbered(k) for k in range(COUNT)), pts=map(int, times), time_base=Fraction(1, 1000))
        index = packet_index(path)
        milliseconds = index.images * float(index.time_base) * 1000
        np.testing.assert_allclose(milliseconds - milliseconds[0], times - times[0], atol=1e-6)
        rows = [number_of(image) for _, image in decode_images(index.header.segment(), index.images[[5, 30]])]
        assert rows == [5, 30]


def test_sixteen_bit_depth_is_bit_exact(tmp_path):
    path = tmp_path / "depth.mkv"
    write_clip(path, (depth_image(k) for k in range(6)), "ffv1", "gray16le")
    index = packet_index(path)
    assert index.pix_fmt == "gray16le"
    for row, image in decode_images(index.header.segment(), index.images):
        assert image.dtype == np.uint16
        np.testing.assert_array_equal(image, depth_image(row))


def test_lossless_colour_is_bit_exact(tmp_path):
    path = tmp_path / "colour.mkv"
    random = np.random.default_rng(2)
    images = [random.integers(0, 256, (64, 98, 3), dtype=np.uint8) for _ in range(3)]
    write_clip(path, images, "ffv1", "bgr0")
    for row, image in decode_images(video_header(path).segment(), packet_index(path).images):
        np.testing.assert_array_equal(image, images[row])


@pytest.mark.parametrize(
    ("codec", "name", "pix_fmt"),
    [("png", "a.mov", "rgb24"), ("libx264rgb", "a.mkv", "rgb24"), ("ffv1", "a.mkv", "gbrp10le")],
)
def test_pictures_held_as_rgb(tmp_path, codec, name, pix_fmt):
    path = tmp_path / name
    write_clip(path, (numbered(k) for k in range(5)), codec, pix_fmt)
    index = packet_index(path)
    assert [number_of(i) for _, i in decode_images(index.header.segment(), index.images)] == list(range(5))


def test_an_image_that_is_not_there_names_file_and_pts(tmp_path):
    path = tmp_path / "short.mp4"
    write_clip(path, (numbered(k) for k in range(10)))
    index = packet_index(path)
    segment = index.header.segment()
    for missing in (int(index.images[4]) + 1, int(index.images[-1]) + 5000, -1):
        with pytest.raises(UnreadableError, match=f"no image of pts {missing}") as error:
            list(decode_images(segment, np.array([missing])))
        assert str(path) in str(error.value)


def test_a_broken_packet_costs_its_image_alone(tmp_path):
    path = tmp_path / "broken.mkv"
    write_clip(path, (numbered(k) for k in range(12)), "mjpeg", "yuvj420p")
    index = packet_index(path)
    data = bytearray(path.read_bytes())
    at = data.find(b"\xff\xd8", int(index.position[5]))
    data[at : at + int(index.size[5]) - 20] = b"\0" * (int(index.size[5]) - 20)
    path.write_bytes(data)
    got = [number_of(image) for _, image in decode_images(index.header.segment(), index.images)]
    assert got == [k for k in range(12) if k != 5]


def test_a_file_that_is_no_video(tmp_path):
    path = tmp_path / "noise.mp4"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(UnreadableError, match=r"does not open") as error:
        video_header(path)
    assert "noise.mp4" in str(error.value)
    with pytest.raises(UnreadableError, match="no such video file"):
        packet_index(tmp_path / "absent.mp4")


def test_a_matroska_cut_off_gives_what_is_there(tmp_path):
    path = tmp_path / "cut.mkv"
    write_clip(path, (numbered(k) for k in range(COUNT)), "mjpeg", "yuvj420p")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    index = packet_index(path)
    assert 20 < len(index) < COUNT
    got = [number_of(image) for _, image in decode_images(index.header.segment(), index.images[:20])]
    assert got == list(range(20))


def test_real_av1_and_mpeg4(test_data):
    head = test_data / "lerobot-v21-unitree-g1/videos/chunk-000/observation.images.cam_high/episode_000010.mp4"
    index = packet_index(head)
    assert (index.codec, len(index)) == ("av1", 290)
    rows = [row for row, _ in decode_images(index.header.segment(), index.images[[0, 100, 289]])]
    assert rows == [0, 1, 2]
