"""Packets are copied byte by byte, image k at k / fps, and the written files are checked."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from export_lab import X264, packets_of

from twinloop.core.errors import TwinloopError
from twinloop.deliver.lerobot import video_files
from twinloop.deliver.lerobot.camera import Run
from twinloop.deliver.lerobot.video_files import CameraFiles
from twinloop.formats.video.probe import packet_index

HEVC = {"x265-params": "bframes=0:keyint=10:log-level=none", "preset": "ultrafast"}
AV1 = {"g": "10", "preset": "12", "crf": "30"}


def whole(path):
    index = packet_index(path)
    return Run(index, 0, len(index))


@pytest.mark.parametrize(
    ("name", "encoder", "options"),
    [
        ("a.mp4", "libx264", X264),
        ("a.mkv", "libx264", X264),
        ("a.mkv", "libx265", HEVC),
        ("a.mp4", "libsvtav1", AV1),
        ("a.mkv", "libsvtav1", AV1),
    ],
)
def test_packets_are_the_same_bytes_at_exact_times(lab, tmp_path, name, encoder, options):
    source = lab.video(name, 25, encoder, options)
    files = CameraFiles(tmp_path / "out", "cam", 30)
    place = files.append([whole(source)])
    files.close()
    written = tmp_path / "out/videos/cam/chunk-000/file-000.mp4"
    assert packets_of(written) == packets_of(source)
    assert (place.chunk, place.file, place.from_s, place.to_s) == (0, 0, 0.0, 25 / 30)
    with av.open(str(written)) as container:
        track = container.streams.video[0]
        assert track.average_rate == Fraction(30)
        assert track.duration * track.time_base == Fraction(25, 30)
        assert [p.pts * track.time_base for p in container.demux(track) if p.size] == [
            Fraction(k, 30) for k in range(25)
        ]


@pytest.mark.parametrize(("encoder", "options"), [("libx264", X264), ("libx265", HEVC)])
def test_streams_framed_by_start_codes_are_copied_unit_by_unit(lab, tmp_path, encoder, options):
    source = lab.video("a.ts", 25, encoder, options)
    files = CameraFiles(tmp_path / "out", "cam", 30)
    files.append([whole(source)])
    files.close()
    written = packet_index(tmp_path / "out/videos/cam/chunk-000/file-000.mp4")
    assert len(written) == 25


def test_episodes_follow_each_other_in_one_file(lab, tmp_path):
    index = packet_index(lab.video("a.mp4", 40))
    files = CameraFiles(tmp_path / "out", "cam", 30)
    first = files.append([Run(index, 0, 17)])
    second = files.append([Run(index, 20, 40)], lead=3)
    files.close()
    assert (first.to_s, second.file) == (17 / 30, 0)
    assert (second.from_s, second.to_s) == (20 / 30, 37 / 30)
    copied = packets_of(tmp_path / "out/videos/cam/chunk-000/file-000.mp4")
    source = packets_of(tmp_path / "a.mp4")
    assert copied == source[:17] + source[20:]


def test_a_new_file_starts_where_parameter_sets_change(lab, tmp_path):
    files = CameraFiles(tmp_path / "out", "cam", 30)
    files.append([whole(lab.video("a.mp4", 10))])
    other = files.append([whole(lab.video("b.mp4", 10, options=X264 | {"preset": "medium", "refs": "4"}))])
    again = files.append([whole(tmp_path / "a.mp4")])
    files.close()
    assert (other.chunk, other.file, other.from_s) == (0, 1, 0.0)
    assert (again.chunk, again.file) == (0, 2)


def test_files_roll_over_by_size_and_by_length(lab, tmp_path):
    run = whole(lab.video("a.mp4", 10))
    small = CameraFiles(tmp_path / "small", "cam", 30, file_mb=run.bytes * 2.5 / 1024**2)
    assert [small.append([run]).file for _ in range(5)] == [0, 0, 1, 1, 2]
    small.close()
    short = CameraFiles(tmp_path / "short", "cam", 30, longest_s=1)
    assert [short.append([run]).file for _ in range(5)] == [0, 0, 0, 1, 1]
    short.close()


def test_chunks_hold_a_thousand_files():
    from twinloop.deliver.lerobot.limits import next_file

    assert next_file(0, -1) == (0, 0)
    assert next_file(0, 998) == (0, 999)
    assert next_file(0, 999) == (1, 0)


def test_a_source_that_changed_is_refused(lab, tmp_path):
    index = packet_index(lab.video("a.mp4", 40))
    lab.video("a.mp4", 12)
    files = CameraFiles(tmp_path / "out", "cam", 30)
    with pytest.raises(TwinloopError, match="no longer holds the image"):
        files.append([Run(index, 0, 40)])
    files.abandon()


def test_a_file_that_lacks_what_went_in_is_refused(lab, tmp_path, monkeypatch):
    files = CameraFiles(tmp_path / "out", "cam", 30)
    files.append([whole(lab.video("a.mp4", 10))])
    replaced = lab.video("b.mp4", 9)
    original = video_files._verify

    def after_damage(done, fps):
        done.path.write_bytes(replaced.read_bytes())
        original(done, fps)

    monkeypatch.setattr(video_files, "_verify", after_damage)
    with pytest.raises(TwinloopError, match="9 images of 10"):
        files.close()


@pytest.mark.parametrize("fps", [10, 24, 25, 30, 50, 60])
def test_below_the_longest_length_every_image_is_found_by_32_bit_times(fps):
    """As LeRobot looks images up: both times as float32, within 1e-4 s."""
    from twinloop.deliver.lerobot.limits import LONGEST_FILE_S

    def worst(first_image):
        begin = first_image / fps
        frame = np.arange(600 * fps)
        query = (begin + (frame / fps).astype(np.float32).astype(np.float64)).astype(np.float32)
        shown = ((first_image + frame) / fps).astype(np.float32)
        within = (first_image + frame) / fps < LONGEST_FILE_S
        return np.abs(query - shown)[within].max(), np.abs(query - shown).max()

    starts = [*range(1, 40), *range(LONGEST_FILE_S * fps - 700 * fps, LONGEST_FILE_S * fps - 500 * fps, 97)]
    assert max(worst(first)[0] for first in starts) < 1e-4
    if fps != 50:  # and beyond it, some are not
        assert max(worst(first)[1] for first in starts) > 1e-4
