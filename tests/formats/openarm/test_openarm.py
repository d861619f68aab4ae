"""What the reader `openarm` makes of a dataset."""

from __future__ import annotations

import numpy as np
import pytest
from openarm_files import T0, write_openarm

from twinloop.checks.run import check
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import Role, StampSource
from twinloop.core.recording import Problem
from twinloop.formats.reader import open_recording


def test_outcomes_and_tasks_are_the_dataset_s(tmp_path):
    with open_recording(write_openarm(tmp_path / "x")) as recording:
        first, second = recording.episodes
        assert (first.outcome, second.outcome) == ("failure", "success")
        assert first.instruction == "Run test."
        assert first.start_ns == T0
        assert second.attributes["id"] == "3"
        assert recording.metadata["operator"] == "Tester"


def test_a_file_is_a_stream_with_its_own_times(tmp_path):
    with open_recording(write_openarm(tmp_path / "x")) as recording:
        stream = recording.streams["observation.arms.left"]
        assert stream.stamp_source is StampSource.DRIVER
        assert (stream.role, stream.rate_hz) == (Role.OBSERVATION, 250)
        table = recording.read("observation.arms.left")
        assert table.column("name")[0].as_py()[-2:] == ["joint7", "gripper"]
        assert table.column("velocity")[3].as_py()[0] == pytest.approx(0.3)
        assert not stream.units
        assert recording.read("action.arms.left").column("position")[6].as_py()[0] == 6


def test_pictures_of_folders_and_archives_are_one_stream(tmp_path):
    with open_recording(write_openarm(tmp_path / "x")) as recording:
        pictures = [bytes(p) for b in recording.scan(["observation.images.head"]) for p in b.payload]
        assert pictures[:4] == pictures[4:]
        assert all(picture[:2] == b"\xff\xd8" for picture in pictures)


def test_links_out_of_the_dataset_are_not_read(tmp_path):
    root = write_openarm(tmp_path / "x")
    file = root / "episodes/0/action/arms/left/qpos.parquet"
    (tmp_path / "outside.parquet").write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(tmp_path / "outside.parquet")
    with open_recording(root) as recording:
        assert recording.streams["action.arms.left"].count == 7
        assert [note.problem for note in recording.notes] == [Problem.PATH]


def test_metadata_that_is_no_yaml_is_an_error(tmp_path):
    root = write_openarm(tmp_path / "x")
    (root / "metadata.yaml").write_text("equipment: [")
    with pytest.raises(UnreadableError, match="no YAML"):
        open_recording(root)


def test_the_real_fixture(test_data):
    root = test_data / "format-openarm-SYNTH/tests/fixture"
    if not root.is_dir():
        pytest.skip("format-openarm-SYNTH is not there")
    with open_recording(root / "dataset_0.3.0") as recording:
        rates = {}
        for name, rows in (("observation.arms.left", 745), ("action.arms.left", 90)):
            times = np.asarray(recording.read(name).column("stamp_ns"))[:rows]
            rates[name] = 1e9 / np.median(np.diff(times))
            assert recording.streams[name].rate_hz == 250
        assert rates["action.arms.left"] == pytest.approx(29.9, abs=0.1)
        assert rates["observation.arms.left"] == pytest.approx(234.5, abs=0.1)
        assert [e.outcome for e in recording.episodes] == ["failure", "success"]
        assert recording.streams["observation.arms.right"].count == 746 + 203
        assert not recording.notes
        found = {f.stream for f in check(recording).findings if f.code == "TIM007"}
        assert "action.arms.left" in found
    with open_recording(root / "dataset_unversioned") as recording:
        names = recording.read("observation.left_arm").column("name")[0].as_py()
        assert names[0] == "openarm_left_joint1"
        assert [n.problem for n in recording.notes] == [Problem.MISSING_FILE]  # episode 3
