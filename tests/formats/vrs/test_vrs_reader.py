"""VRS files: fields, times, kinds and tags as the layouts say; the same values as pyvrs reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from aria_files import HOST_NS, START_NS, gen1_tracks, write_gen1, write_gen2

from twinloop.core.calibration import CameraModel, cameras_of, frames_of
from twinloop.core.clock import Epoch
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import Kind, StampSource
from twinloop.formats.reader import find_reader, open_recording
from twinloop.testing.vrs_writer import VrsRecord, VrsTrack, write_vrs

GEN1 = "project-aria/data/gen1"


def test_device_host_and_record_times_are_apart(tmp_path: Path) -> None:
    with open_recording(write_gen1(tmp_path / "a.vrs")) as recording:
        stream = recording.streams["camera-rgb"]
        table = recording.read("camera-rgb")
        motion = recording.read("imu-right")
    assert stream.stamp_source is StampSource.EXPOSURE_MID
    assert stream.stamp_clock.epoch is Epoch.DEVICE
    assert stream.log_clock != stream.stamp_clock
    assert stream.rate_hz == 20.0
    assert table.column("stamp_ns")[1].as_py() == START_NS + 50_000_000
    assert table.column("log_ns")[1].as_py() == HOST_NS + 57_000_000
    assert table.column("record_ns")[1].as_py() == START_NS + 50_000_000
    assert table.column("temperature_deg_c").to_pylist() == [33.0, None, 33.0, None]
    assert motion.column("log_ns").null_count == 40  # -1 says that it is not known


def test_motion_is_in_si_units_and_invalid_values_are_absent(tmp_path: Path) -> None:
    with open_recording(write_gen1(tmp_path / "a.vrs")) as recording:
        motion, field = recording.read("imu-right"), recording.read("mag0")
        pressure = recording.read("baro0")
    assert motion.column("linear_acceleration").to_pylist()[2:5] == [[0.5, -9.5, 2], None, [0.5, -9.5, 4]]
    assert motion.column("angular_velocity")[7].as_py() == [0.25, 7, 0.125]
    np.testing.assert_allclose(field.column("field")[0].as_py(), [-30e-6, 12e-6, 8e-6])
    assert pressure.column("pressure")[2].as_py() == 97_735.0


def test_pictures_and_sound_are_the_bytes_of_the_file(tmp_path: Path) -> None:
    tracks = {track.type: track for track in gen1_tracks()}
    with open_recording(write_gen1(tmp_path / "a.vrs", compression=2)) as recording:
        kept = {"camera-rgb": [], "camera-et": [], "mic": []}
        for batch in recording.scan(kept):
            assert batch.payload is not None
            kept[batch.stream] += [bytes(one) for one in batch.payload]
        grey, sound = recording.read("camera-et"), recording.read("mic")
    assert kept["camera-rgb"] == [record.bulk for record in tracks[214].records]
    assert kept["mic"] == [record.bulk for record in tracks[231].records]
    assert len(kept["camera-et"][0]) == 64 * 48
    assert grey.column("encoding")[0].as_py() == "mono8"
    assert (grey.column("width")[0].as_py(), grey.column("height")[0].as_py()) == (64, 48)
    assert sound.column("encoding")[0].as_py() == "pcm-s32le"
    assert (sound.column("sample_rate")[0].as_py(), sound.column("channels")[0].as_py()) == (48_000, 7)
    assert len(sound.column("capture_timestamps_ns")[0].as_py()) == 32
    assert sound.column("stamp_ns")[1].as_py() == START_NS + 32 * 20_833


def test_declared_streams_without_records_are_streams(tmp_path: Path) -> None:
    with open_recording(write_gen1(tmp_path / "a.vrs")) as recording:
        empty = {name for name, stream in recording.streams.items() if stream.count == 0}
        assert empty == {"gps-app", "wps"}
        assert recording.streams["gps-app"].kind is Kind.GNSS
        assert recording.read("wps").num_rows == 0


def test_the_second_generation_reads_by_its_layouts(tmp_path: Path) -> None:
    with open_recording(write_gen2(tmp_path / "a.vrs")) as recording:
        tables = {name: recording.read(name) for name in recording.streams}
        assert recording.streams["vio"].attributes["child"] == "body_imu"
        assert recording.streams["temperature"].units == {"temperature_celsius": "Cel"}
    hands = tables["handtracking"]
    assert len(hands.column("name")[0].as_py()) == 42
    assert hands.column("name")[0].as_py()[21] == "right/0"
    assert hands.column("xyz")[2].as_py()[:3] == [2, 3, 4]
    assert hands.column("xyz")[2].as_py()[63:66] == [102, 103, 104]
    assert tables["vio"].column("position")[1].as_py() == [1, 2, 3]
    np.testing.assert_allclose(tables["vio"].column("orientation")[0].as_py(), [0.9, 0.1, 0.2, 0.3])
    assert tables["vio"].column("frame_id")[0].as_py() == "odometry"
    assert tables["eyegaze"].column("depth").to_pylist() == [1.5, 1.5, None, 1.5]
    assert tables["eyegaze"].column("direction")[1].as_py() is None
    assert tables["ppg"].column("notes")[0].as_py() == '{"led": "green"}'
    assert tables["bluetooth"].column("unique_id")[3].as_py() == "beacon 3 é"
    assert len(set(tables["bluetooth"].column("stamp_ns").to_pylist())) == 1
    assert np.ptp(tables["temperature"].column("stamp_ns").to_numpy()) == 13_000_000


def test_calibration_and_metadata_come_from_the_tags(tmp_path: Path) -> None:
    with open_recording(write_gen1(tmp_path / "a.vrs")) as recording:
        cameras, frames = cameras_of(recording.calibration), frames_of(recording.calibration)
        calibration, metadata = recording.calibration, recording.metadata
    rgb = cameras["camera-rgb"]
    assert rgb.model is CameraModel.FISHEYE624
    assert rgb.intrinsics == (1219.9, 1219.9, 1451.8, 1453.2)
    assert len(rgb.distortion) == 12
    assert rgb.width is None  # the numbers are for the full sensor, which the text does not state
    assert cameras["camera-et-left"].model is CameraModel.FISHEYE
    assert cameras["camera-et-left"].intrinsics == (557.0, 556.0, 319.5, 239.5)
    assert frames["camera-rgb"].parent == "device"
    assert frames["camera-rgb"].rotation == (0.5, 0.5, 0.5, 0.5)
    matrix = calibration["imu/imu-left"]["accel_rectification"]  # type: ignore[index]
    assert list(matrix) == [1, 2, 3, 0, 4, 5, 0, 0, 6]
    assert {"magnetometer/mag0", "barometer/baro0", "microphone/mic0"} <= set(calibration)
    assert calibration["online/camera-rgb"] == {"gain": 2}
    assert metadata["device_serial"] == "1WM09380041283"
    assert metadata["metadata/recording_profile"] == "profile9"


def test_a_file_of_no_known_device_is_read_by_its_layouts(tmp_path: Path) -> None:
    fields = {"force": "double", "name": "string", "matrix": "float[4]", "list": "vector<int32_t>"}
    values = {"force": 2.5, "name": "left", "matrix": [1, 2, 3, 4], "list": [5, 6]}
    track = VrsTrack(65_000, 3, "Glove Class", fields, [VrsRecord(1.5, values)], flavor="lab/glove")
    with open_recording(write_vrs(tmp_path / "a.vrs", [track])) as recording:
        (stream,) = recording.streams.values()
        row = recording.read("glove-3").to_pylist()[0]
    assert (stream.name, stream.kind, stream.timeline) == ("glove-3", Kind.TABLE, "log_ns")
    assert row == {"log_ns": 1_500_000_000, **values}


def test_configurations_that_change_and_states_are_streams(tmp_path: Path) -> None:
    configuration = {"gain": ("double", 2.0)}
    track = VrsTrack(
        214, 1, "RGB Camera Class", {"value": "double"}, [VrsRecord(1.0, {"value": 1})], configuration
    )
    again = VrsTrack(214, 1, "RGB Camera Class", {"value": "double"}, [], {"gain": ("double", 3.0)})
    with open_recording(write_vrs(tmp_path / "a.vrs", [track, again], {"device_type": "Aria"})) as recording:
        assert recording.read("camera-rgb/configuration").column("gain").to_pylist() == [2.0, 3.0]


@pytest.mark.parametrize("index", ["none", "end"])
@pytest.mark.parametrize("compression", [0, 1, 2])
def test_records_are_found_wherever_the_index_is(tmp_path: Path, index: str, compression: int) -> None:
    with open_recording(write_gen1(tmp_path / "a.vrs", index=index, compression=compression)) as recording:
        counts = {name: recording.read(name).num_rows for name in recording.streams}
        notes = [note.problem.value for note in recording.notes]
    assert sum(counts.values()) == sum(len(track.records) for track in gen1_tracks())
    assert notes == (["index"] if index == "none" else [])


def test_a_cut_file_says_how_many_records_are_gone(tmp_path: Path) -> None:
    path = write_gen1(tmp_path / "a.vrs")
    with open_recording(path) as recording:
        whole = sum(recording.read(name).num_rows for name in recording.streams)
    path.write_bytes(path.read_bytes()[:-9000])
    with open_recording(path) as recording:
        left = sum(recording.read(name).num_rows for name in recording.streams)
        (note,) = recording.notes
    assert left < whole
    assert note.problem.value == "truncated"
    assert note.lost is not None and note.lost >= whole - left


def test_sizes_beyond_the_bytes_are_refused(tmp_path: Path) -> None:
    """A description, an index and a compressed record that declare more than the file can hold."""
    path = write_gen2(tmp_path / "a.vrs", compression=2)
    data = bytearray(path.read_bytes())
    for place in (80, int.from_bytes(data[24:32], "little")):
        broken = bytearray(data)
        broken[place : place + 4] = b"\xff\xff\xff\x7f"
        path.write_bytes(broken)
        with open_recording(path) as recording:
            for _ in recording.scan():
                pass
            assert recording.notes


def test_pyvrs_reads_the_same(tmp_path: Path) -> None:
    """The field's own reader is asked in a process of its own: what it reads is what is read here."""
    pytest.importorskip("pyvrs")
    for path in (
        write_gen1(tmp_path / "one.vrs", compression=2),
        write_gen2(tmp_path / "two.vrs", compression=1),
    ):
        assert _compared(path) > 100


def test_real_recordings(test_data: Path) -> None:
    folder = test_data / GEN1
    with open_recording(folder / "aria_everyday_activities_test_data" / "recording.vrs") as recording:
        counts = {name: stream.count for name, stream in recording.streams.items()}
        assert not recording.notes
        assert {name: recording.read(name).num_rows for name in recording.streams} == counts
        assert recording.metadata["metadata/dataset_name"] == "AEA_2024"
    assert counts["imu-right"] == 400
    assert counts["imu-left"] == 319
    assert counts["camera-rgb"] == 8
    assert counts["mps/general_eye_gaze"] == 4
    assert counts["speech"] == 13
    with open_recording(folder / "aria_unit_test_timecode_sequence_calib.vrs") as recording:
        assert recording.streams["imu-right"].count == 150
        assert recording.streams["time-domain-mapping-2"].attributes["mode"]
        span = recording.streams["imu-right"]
        assert 0.1 < (span.end_ns - span.start_ns) / 1e9 < 0.4  # type: ignore[operator]


def test_real_ground_truth_lies_with_its_recording(test_data: Path) -> None:
    folder = test_data / GEN1 / "aria_digital_twin_test_data"
    assert find_reader(folder).name == "vrs"
    with open_recording(folder) as recording:
        still, moving = recording.read("truth/objects_static"), recording.read("truth/objects_moving")
        boxes, skeleton = recording.read("truth/2d_bounding_box"), recording.read("truth/Skeleton_T")
        assert not recording.notes
    assert (still.num_rows, moving.num_rows, boxes.num_rows, skeleton.num_rows) == (304, 270, 1438, 20)
    assert "stamp_ns" not in still.column_names
    assert set(boxes.column("frame_id").to_pylist()) == {"camera-rgb", "camera-slam-left", "camera-slam-right"}
    assert len(skeleton.column("name")[0]) == 51
    assert still.column("category")[0].as_py() == "hook"


def test_pyvrs_reads_the_same_of_real_recordings(test_data: Path) -> None:
    pytest.importorskip("pyvrs")
    assert sum(_compared(path) for path in sorted((test_data / GEN1).rglob("*.vrs"))) > 8_000


def _compared(path: Path) -> int:
    """How many values of records were compared with pyvrs'; none may differ."""
    code = (
        "import json, sys\n"
        "from pyvrs import SyncVRSReader\n"
        "reader = SyncVRSReader(sys.argv[1], auto_read_configuration_records=True)\n"
        "data = [record for record in reader if record.record_type == 'data']\n"
        "rows = [[record.stream_id, [dict(block) for block in record.metadata_blocks]] for record in data]\n"
        "plain = lambda value: getattr(value, 'tolist', lambda: str(value))()\n"
        "sys.stdout.write('\\nROWS' + json.dumps(rows, default=plain))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout.partition("\nROWS")[2])
    compared = 0
    with open_recording(path) as recording:
        for name, stream in recording.streams.items():
            if not stream.encoding.startswith("vrs"):
                continue
            theirs = [blocks for id, blocks in rows if id == stream.encoding.split()[1]]
            ours = recording.read(name).to_pylist()
            assert len(theirs) == len(ours), name
            for blocks, row in zip(theirs, ours, strict=True):
                for field, value in (item for block in blocks for item in block.items()):
                    if field in row and field not in ("frame_id", "temperature_deg_c"):
                        _same(
                            row[field],
                            json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value,
                        )
                        compared += 1
                    elif field == "capture_timestamp_ns":
                        assert row["stamp_ns"] == value
                        compared += 1
    return compared


def _same(ours: object, theirs: object) -> None:
    if isinstance(ours, str) and not isinstance(theirs, str):
        ours = json.loads(ours)
    if isinstance(theirs, dict | str | bool) or (isinstance(theirs, list) and isinstance(theirs[0], str)):
        assert ours == theirs
        return
    np.testing.assert_allclose(
        np.asarray(ours, float), np.asarray(theirs, float).reshape(np.shape(ours)), rtol=1e-6
    )


def test_a_folder_over_other_recordings_is_none_itself(tmp_path: Path) -> None:
    write_gen1(tmp_path / "a.vrs")
    (tmp_path / "eye_gaze").mkdir()
    assert find_reader(tmp_path).name == "vrs"
    (tmp_path / "another").mkdir()
    write_gen1(tmp_path / "another" / "b.vrs")
    with pytest.raises(UnreadableError):
        find_reader(tmp_path)
