"""What the reader `hdf5` makes of its layouts, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from hdf5_files import (
    T0_MS,
    pictures,
    write_act,
    write_droid,
    write_mapped,
    write_openarm_collector,
    write_robomimic,
)

from twinloop.core.clock import Epoch
from twinloop.core.errors import MappingError, UnreadableError
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import Problem
from twinloop.formats.hdf5.apart import apart
from twinloop.formats.reader import open_recording

PAGE = (Path(__file__).parents[3] / "docs" / "mapping.md").read_text()


def images(recording, name):
    return [bytes(data) for batch in recording.scan([name]) for data in batch.payload]


def test_a_demonstration_of_robomimic_is_an_episode(tmp_path):
    with open_recording(write_robomimic(tmp_path / "x.hdf5")) as recording:
        assert recording.metadata["layout"] == "robomimic"
        assert recording.metadata["mask/valid"] == "demo_2"
        assert [e.attributes["filters"] for e in recording.episodes] == ["train", "train", "valid"]
        action = recording.read("action")
        stamps = action.column("stamp_ns").to_numpy()
        for number, span in enumerate(recording.episodes):
            mine = (stamps >= span.start_ns) & (stamps < span.end_ns)
            assert set(action.column("dim_0").to_numpy()[mine]) == {number}
        assert recording.streams["action"].rate_hz == 20  # env_args says so
        assert stamps[1] - stamps[0] == 50_000_000
        name = "observation.images.agentview_image"
        assert images(recording, name)[5] == pictures(8, 10)[0].tobytes()


def test_libero_has_an_instruction_and_says_how_pictures_stand(tmp_path):
    with open_recording(write_robomimic(tmp_path / "x.hdf5", libero=True)) as recording:
        assert {e.instruction for e in recording.episodes} == {"pick up the bowl"}
        assert "bottom up" in recording.streams["observation.images.agentview_rgb"].attributes["rows"]


def test_padding_of_act_pictures_is_no_part_of_them(tmp_path):
    with open_recording(write_act(tmp_path / "episode_0.hdf5", task="fold")) as recording:
        assert all(
            p[:2] == b"\xff\xd8" and p[-2:] == b"\xff\xd9"
            for p in images(recording, "observation.images.cam_high")
        )
        assert recording.episodes[0].instruction == "fold"
        assert recording.streams["observation.state"].rate_hz is None
        assert recording.read("action").column("position")[3].as_py()[0] == 4


def test_raw_pictures_of_act_are_pixels(tmp_path):
    with open_recording(write_act(tmp_path / "x.hdf5", compress=False)) as recording:
        assert images(recording, "observation.images.cam_high")[7] == pictures(12)[7].tobytes()


def test_times_of_openarm_s_collector_are_stamps(tmp_path):
    with open_recording(write_openarm_collector(tmp_path / "x.h5")) as recording:
        assert recording.metadata["layout"] == "OpenArm"
        stream = recording.streams["observation.left_q"]
        assert (stream.kind, stream.stamp_source) == (Kind.JOINTS, StampSource.DRIVER)
        assert recording.episodes[0].start_ns == T0_MS * 1_000_000


def test_parts_of_a_droid_step_have_their_own_times(tmp_path):
    with open_recording(write_droid(tmp_path / "droid")) as recording:
        (episode,) = recording.episodes
        assert (episode.instruction, episode.outcome) == ("Move the cup", "success")
        robot = recording.read("observation.robot_state.joint_positions")
        assert robot.column("stamp_ns")[1].as_py() == 100 * 10**9 + 66_666_666
        assert robot.column("log_ns")[0].as_py() == (T0_MS + 2) * 10**6
        camera = recording.read("observation.images.wrist")
        assert camera.column("stamp_ns")[0].as_py() == (T0_MS - 40) * 10**6
        assert camera.column("segment").to_pylist() == [0] * 10
        action = recording.streams["action.joint_position"]
        assert (action.role, action.timeline) == (Role.ACTION, "log_ns")


def test_a_video_that_is_too_short_is_noted(tmp_path):
    with open_recording(write_droid(tmp_path / "droid", images=8)) as recording:
        assert [(n.problem, n.lost) for n in recording.notes] == [(Problem.COUNT, 2)]
        assert recording.read("observation.images.wrist").column("segment").null_count == 2


def test_the_mapping_of_the_page_reads_its_file(tmp_path):
    (example,) = re.findall(r"```toml hdf5\n(.*?)```", PAGE, re.DOTALL)
    with open_recording(write_mapped(tmp_path / "runs.h5", mapping=example)) as recording:
        assert [e.instruction for e in recording.episodes] == ["task 0", "task 1"]
        state = recording.streams["observation.state"]
        assert (state.units, state.stamp_source) == ({"position": "deg"}, StampSource.SENSOR)
        pose = recording.read("observation.pose")
        assert pose.column("position")[0].as_py() == [1, 0, 0]  # metres
        assert pose.column("orientation")[0].as_py() == [1, 0, 0, 0]
        assert recording.streams["action"].stamp_clock.epoch is Epoch.BOOT


def test_episodes_whose_times_begin_anew_follow_one_another(tmp_path):
    path = write_mapped(tmp_path / "runs.h5")
    with h5py.File(path, "a") as file:
        file["runs/1/t"][...] = file["runs/0/t"][0] + np.arange(7) * 20.0
    with open_recording(path) as recording:
        first, second = recording.episodes
        assert (first.start_ns, second.start_ns) == (0, 10**9)
        assert recording.streams["action"].stamp_clock.epoch is Epoch.EPISODE


def test_a_mapping_that_does_not_fit_is_an_error(tmp_path):
    path = write_mapped(tmp_path / "runs.h5", mapping='[[streams]]\nname = "x"\ndataset = "robott/q"\n')
    with pytest.raises(MappingError, match="robott/q"):
        open_recording(path)


def test_an_unknown_layout_says_what_is_there(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["stuff"] = np.zeros(3)
    with pytest.raises(UnreadableError, match=r"stuff \(3,\)"):
        open_recording(tmp_path / "x.h5")


@pytest.mark.parametrize("way", ["link", "storage", "virtual"])
def test_nothing_outside_the_file_is_read(tmp_path, way):
    path = write_act(tmp_path / "x.hdf5")
    with h5py.File(tmp_path / "secret.h5", "w") as secret:
        secret["data"] = np.arange(12.0)
    with h5py.File(path, "a") as file:
        if way == "link":
            file["observations/more"] = h5py.ExternalLink("secret.h5", "/data")
        elif way == "storage":
            file.create_dataset("observations/more", (12,), "f8", external=[(str(tmp_path / "raw"), 0, 96)])
        else:
            layout = h5py.VirtualLayout((12,), "f8")
            layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "data", (12,))
            file.create_virtual_dataset("observations/more", layout)
    with open_recording(path) as recording:
        assert "observation.more" not in recording.streams
        assert [note.where.stream for note in recording.notes] == ["observations/more"]


def test_a_soft_link_inside_the_file_is_followed(tmp_path):
    path = write_act(tmp_path / "x.hdf5")
    with h5py.File(path, "a") as file:
        file["observations/same"] = h5py.SoftLink("/observations/qvel")
    with open_recording(path) as recording:
        assert recording.read("observation.same").num_rows == 12


def test_a_shape_that_the_file_cannot_hold_is_refused(tmp_path):
    path = write_act(tmp_path / "x.hdf5")
    with h5py.File(path, "a") as file:
        file.create_dataset("observations/huge", (10**12, 8), "f8", chunks=(1024, 8))
    with open_recording(path) as recording:
        assert "observation.huge" not in recording.streams
        assert "more than the file can hold" in recording.notes[0].message


def test_a_crash_of_the_library_is_an_error(tmp_path):
    import os
    import signal

    with pytest.raises(UnreadableError, match="crashes on it"):
        apart(lambda: os.kill(os.getpid(), signal.SIGSEGV), tmp_path)
    assert apart(lambda: 3, tmp_path) == 3
