"""Folders of videos: times from tables of several layouts, or from the containers where there is none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from clips import depth_image, number_of, numbered, write_clip

from twinloop.core.clock import Epoch
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import find_reader, open_recording
from twinloop.formats.video.decode import decode_images
from twinloop.formats.video.thumbnail import thumbnails

COUNT = 12
START = 1_700_000_000
TIMES_S = START + np.cumsum(np.random.default_rng(3).uniform(0.08, 0.13, COUNT)).round(6)


@pytest.fixture
def folder(tmp_path):
    for number in (0, 1):
        path = tmp_path / f"cam_{number}.mp4"
        write_clip(path, (numbered(100 * number + k) for k in range(COUNT)), fps=10)
    return tmp_path


def stamps(recording, name):
    return np.array(recording.read(name)["stamp_ns"])


def in_ns(times_s):
    return np.rint(np.asarray(times_s) * 1e6).astype(np.int64) * 1000


def test_a_long_table_of_all_cameras(folder):
    rows = [f"{k},{c},{k + 7},{TIMES_S[k] + c / 1000:.6f}" for k in range(COUNT) for c in (1, 0)]
    (folder / "timestamps.csv").write_text("sync_index,cam_id,frame_index,frame_time\n" + "\n".join(rows))
    recording = open_recording(folder)
    assert recording.format == "video-folder"
    for camera in (0, 1):
        name = f"cam_{camera}"
        stream = recording.streams[name]
        assert (stream.kind, stream.count, stream.rate_hz) == (Kind.IMAGE, COUNT, None)
        assert (stream.stamp_source, stream.stamp_clock.epoch) == (StampSource.DRIVER, Epoch.UNIX)
        np.testing.assert_array_equal(stamps(recording, name), in_ns(TIMES_S + camera / 1000))
        table = recording.read(name)
        images = decode_images(stream.segments[0], np.array(table["pts"]))
        assert [number_of(image) for _, image in images] == [100 * camera + k for k in range(COUNT)]
    (note,) = recording.notes
    assert "does not say its unit; its numbers fit s" in note.message
    assert {path.name for path in recording.files} == {"cam_0.mp4", "cam_1.mp4", "timestamps.csv"}


@pytest.mark.parametrize(
    ("header", "scale"),
    [("stamp_ns", 1), ("timestamp [ns]", 1), ("time_us", 1e-3), ("Time (ms)", 1e-6), ("t_s", 1e-9)],
)
def test_units_in_the_header(folder, header, scale):
    ns = in_ns(TIMES_S)
    cells = [str(v) if scale == 1 else f"{v * scale:.6f}" for v in ns.tolist()]
    (folder / "cam_0.csv").write_text(f"{header}\n" + "\n".join(cells))
    recording = open_recording(folder / "cam_0.mp4")
    np.testing.assert_allclose(stamps(recording, "cam_0"), ns, atol=500)
    assert not recording.notes


@pytest.mark.parametrize(("unit", "scale"), [("s", 1e-9), ("ms", 1e-6), ("us", 1e-3), ("ns", 1.0)])
@pytest.mark.parametrize("start_ns", [START * 10**9, 25_000_000_000])
def test_units_inferred_from_size_and_rate(folder, unit, scale, start_ns):
    ns = start_ns + np.arange(COUNT) * 103_000_000
    (folder / "cam_0_timestamps.txt").write_text("\n".join(f"{v * scale:.7f}" for v in ns.tolist()))
    recording = open_recording(folder / "cam_0.mp4")
    np.testing.assert_allclose(stamps(recording, "cam_0"), ns, atol=1000)
    assert f"fit {unit}" in recording.notes[0].message


def test_a_timestamp_file_of_mkvmerge(folder):
    ms = (np.arange(COUNT) * 101.5).tolist()
    (folder / "cam_1_timestamps.txt").write_text("# timestamp format v2\n" + "\n".join(map(str, ms)))
    recording = open_recording(folder / "cam_1.mp4")
    np.testing.assert_array_equal(stamps(recording, "cam_1"), (np.array(ms) * 1e6).astype(np.int64))


def test_a_wide_table(folder):
    rows = [f"{TIMES_S[k]:.6f},{TIMES_S[k] + 0.01:.6f}" for k in range(COUNT)]
    (folder / "timestamps.csv").write_text("cam_0,cam_1\n" + "\n".join(rows))
    recording = open_recording(folder)
    np.testing.assert_array_equal(stamps(recording, "cam_1"), in_ns(TIMES_S + 0.01))


def test_a_shared_table_with_more_time_columns(folder):
    ns = in_ns(TIMES_S)
    rows = [f"{v},{v + 5_000_000},{k + 40}" for k, v in enumerate(ns.tolist())]
    (folder / "frame_times.csv").write_text("stamp_ns,log_ns,seq\n" + "\n".join(rows))
    table = open_recording(folder).read("cam_0")
    np.testing.assert_array_equal(table["log_ns"], ns + 5_000_000)
    assert table["seq"][0].as_py() == 40


def test_dates_are_times(folder):
    rows = [f"2024-05-01T10:00:{k:02d}.25Z" for k in range(COUNT)]
    (folder / "cam_0.csv").write_text("datetime\n" + "\n".join(rows))
    recording = open_recording(folder / "cam_0.mp4")
    assert stamps(recording, "cam_0")[1] == 1_714_557_601_250_000_000
    assert not recording.notes


def test_detections_beside_the_videos_are_no_times(folder):
    rows = [f"{k},0,{k},{TIMES_S[k]:.6f},{i}" for k in range(COUNT) for i in range(3)]
    (folder / "frame_points.csv").write_text(
        "sync_index,cam_id,frame_index,frame_time,point\n" + "\n".join(rows)
    )
    recording = open_recording(folder)
    assert recording.streams["cam_0"].stamp_source is StampSource.GRID
    assert recording.metadata["times"] == "the containers' pts"


@pytest.mark.parametrize("rows", [COUNT - 3, COUNT + 2])
def test_rows_and_images_that_do_not_pair(folder, rows):
    ns = START * 10**9 + np.arange(rows) * 100_000_000
    (folder / "cam_0.csv").write_text("stamp_ns\n" + "\n".join(map(str, ns.tolist())))
    recording = open_recording(folder / "cam_0.mp4")
    (note,) = recording.notes
    assert note.problem is Problem.COUNT
    assert (
        f"{rows} rows for cam_0, the video has {COUNT} images; {min(rows, COUNT)} of them pair" in note.message
    )
    table = recording.read("cam_0")
    assert table.num_rows == rows
    assert table["pts"].null_count == max(0, rows - COUNT)
    assert len(recording.notes) == 1


def test_image_numbers_with_holes(folder):
    kept = [0, 1, 4, 5, 11]
    rows = [f"{k},{TIMES_S[k]:.6f}" for k in kept]
    (folder / "cam_0.csv").write_text("frame,timestamp_s\n" + "\n".join(rows))
    recording = open_recording(folder / "cam_0.mp4")
    table = recording.read("cam_0")
    images = decode_images(recording.streams["cam_0"].segments[0], np.array(table["pts"]))
    assert [number_of(image) for _, image in images] == kept


def test_one_bad_row_does_not_cost_the_table(folder):
    cells = [f"{t:.6f}" for t in TIMES_S]
    cells[4] = "not a time"
    cells[7] = "1,2,3"
    (folder / "cam_0.csv").write_text("timestamp_s\n" + "\n".join(cells))
    recording = open_recording(folder / "cam_0.mp4")
    problems = [note.problem for note in recording.notes]
    assert problems.count(Problem.BAD_VALUE) == 2
    assert len(stamps(recording, "cam_0")) == COUNT - 2


def test_a_camera_without_a_file_and_a_file_without_times(folder):
    rows = [f"{c},{TIMES_S[k]:.6f}" for k in range(COUNT) for c in ("cam_0", "cam_9")]
    (folder / "timestamps.csv").write_text("camera,timestamp_s\n" + "\n".join(rows))
    recording = open_recording(folder)
    messages = [note.message for note in recording.notes]
    assert any("without a video file here: cam_9" in message for message in messages)
    assert any("no table has times for this video" in message for message in messages)
    assert recording.streams["cam_1"].stamp_source is StampSource.GRID


def test_no_table_and_a_varying_rate(tmp_path):
    times = np.cumsum(np.random.default_rng(1).integers(20, 90, COUNT))
    write_clip(
        tmp_path / "phone.mkv",
        (numbered(k) for k in range(COUNT)),
        pts=map(int, times),
        time_base=Fraction(1, 1000),
    )
    recording = open_recording(tmp_path)
    stream = recording.streams["phone"]
    assert stream.stamp_source is StampSource.DRIVER
    assert stream.stamp_clock.epoch is Epoch.EPISODE
    np.testing.assert_array_equal(np.diff(stamps(recording, "phone")), np.diff(times) * 1_000_000)


def test_spans_of_time_and_thumbnails(folder):
    recording = open_recording(folder)
    batches = list(recording.scan(["cam_1"], start_ns=300_000_000, end_ns=600_000_000))
    assert sum(map(len, batches)) == 3
    small = thumbnails(recording, "cam_1", 4, width=60)
    assert len(small) == 4 and small[0][1].shape == (40, 60, 3)


def test_depth_videos_are_depth(tmp_path):
    write_clip(tmp_path / "depth.mkv", (depth_image(k) for k in range(4)), "ffv1", "gray16le")
    recording = open_recording(tmp_path)
    assert recording.streams["depth"].kind is Kind.DEPTH
    assert recording.streams["depth"].count is None
    assert len(stamps(recording, "depth")) == 4
    ((_, image),) = thumbnails(recording, "depth", 1)
    assert image.dtype == np.uint8 and image.shape == (64, 96, 3)


def test_sniffing_goes_by_bytes(folder, tmp_path):
    odd = folder / "clip.bin"
    odd.write_bytes((folder / "cam_0.mp4").read_bytes())
    assert find_reader(odd).name == "video-folder"
    liar = folder / "liar.mp4"
    liar.write_text("this is no video")
    with pytest.raises(UnreadableError):
        find_reader(liar)
    assert "liar" not in open_recording(folder).streams


def test_broken_videos_beside_whole_ones(folder):
    whole = (folder / "cam_0.mp4").read_bytes()
    (folder / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    recording = open_recording(folder)
    assert set(recording.streams) == {"cam_0", "cam_1"}
    assert recording.notes[0].problem is Problem.CORRUPT
    with pytest.raises(UnreadableError, match="does not open"):
        open_recording(folder / "cut.mp4")


def test_the_real_caliscope(test_data):
    sessions = test_data / "caliscope-multicam/tests/sessions"
    recording = open_recording(sessions / "charuco_calibration/calibration/extrinsic")
    assert list(recording.streams) == ["cam_0", "cam_1", "cam_2", "cam_3"]
    for stream in recording.streams.values():
        assert (stream.count, stream.rate_hz) == (111, None)
        assert stream.measured_rate_hz == pytest.approx(6.0, abs=0.002)
        assert stream.measured_rate_hz != 6.0
    gaps = np.diff(stamps(recording, "cam_1")) / 1e9
    assert gaps.max() == pytest.approx(0.2078, abs=1e-4)
    assert recording.metadata["calibration_file/0"].endswith("camera_array.toml")
    later = open_recording(sessions / "post_optimization/calibration/extrinsic")
    assert later.streams["cam_3"].count == 57


def test_real_videos_without_a_table(test_data):
    recording = open_recording(test_data / "pose2sim-exo/Pose2Sim/Demo_SinglePerson/videos")
    assert [s.segments[0].codec for s in recording.streams.values()] == ["h264", "vp9", "h264", "h264"]
    assert {s.stamp_source for s in recording.streams.values()} == {StampSource.GRID}
    hand = open_recording(
        test_data / "dex-hand-video/example/vector_retargeting/data/human_hand_video.mp4"
    ).streams["human_hand_video"]
    assert (hand.count, hand.rate_hz) == (621, 30.0)
