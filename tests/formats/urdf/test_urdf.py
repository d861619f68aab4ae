"""What a robot's description says comes out as said."""

from __future__ import annotations

from pathlib import Path

import pytest
from robots import URDF, write_robot

from twinloop.core.errors import UnreadableError
from twinloop.core.recording import Problem
from twinloop.formats.reader import find_reader, open_recording


def test_joints_and_limits_are_metadata(tmp_path: Path) -> None:
    with open_recording(write_robot(tmp_path / "arm")) as recording:
        assert recording.read("robot_description").column("text").to_pylist() == [URDF]
        assert recording.metadata["robot"] == "arm"
        assert recording.metadata["joints"] == "lift, slide"
        assert recording.metadata["fixed_joints"] == "1"
        assert recording.metadata["joint/lift"].startswith(
            "revolute, parent base, child upper, axis 0 0 1, lower -1.5"
        )
        (mesh,) = recording.attachments
        assert (mesh.name, mesh.media_type) == ("package://arm/meshes/base.stl", "model/stl")
        assert recording.read_attachment(mesh) == b"solid base\nendsolid\n"
        assert not recording.notes


def test_meshes_that_are_not_there_are_noted_once(tmp_path: Path) -> None:
    path = write_robot(tmp_path / "arm")
    (tmp_path / "arm/meshes/base.stl").unlink()
    with open_recording(path) as recording:
        assert [(note.problem, note.lost) for note in recording.notes] == [(Problem.MISSING_FILE, 0)]


@pytest.mark.parametrize("name", ["package://arm/../../secret", "file:///etc/hostname", "package://"])
def test_names_that_lead_elsewhere_are_not_followed(tmp_path: Path, name: str) -> None:
    path = write_robot(tmp_path / "arm")
    path.write_text(URDF.replace("package://arm/meshes/base.stl", name))
    with open_recording(path) as recording:
        assert recording.attachments == ()


def test_a_semantic_description_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "arm.srdf").write_text('<robot name="arm"><group name="g"><joint name="lift"/></group></robot>')
    with pytest.raises(UnreadableError):
        find_reader(tmp_path / "arm.srdf")


@pytest.mark.parametrize(
    ("file", "moving", "meshes"),
    [
        ("so_arm_description/urdf/so101.urdf", 6, 2),
        ("g1_description/urdf/g1_29dof_rev_1_0.urdf", 29, 0),
        ("panda_description/urdf/panda.urdf", 9, 0),
    ],
)
def test_real_robots(test_data: Path, file: str, moving: int, meshes: int) -> None:
    robots = test_data / "robot-urdf/cmeel.prefix/share/example-robot-data/robots"
    with open_recording(robots / file) as recording:
        assert recording.format == "urdf"
        assert sum(name.startswith("joint/") for name in recording.metadata) == moving
        assert len(recording.attachments) == meshes
