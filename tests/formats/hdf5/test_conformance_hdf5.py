"""The reader `hdf5` passes the suite that plug-ins must pass, in each of its layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np
from hdf5_files import write_act, write_droid, write_mapped, write_openarm_collector, write_robomimic

from twinloop.core.kinds import Kind
from twinloop.formats.hdf5.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

STAMPED, LOGGED = frozenset({"stamp_ns"}), frozenset({"log_ns"})


def streams(count: int, times: frozenset[str], **kinds: Kind) -> dict[str, ExpectedStream]:
    return {name.replace("__", "."): ExpectedStream(kind, count, times) for name, kind in kinds.items()}


class _Hdf5(ReaderConformance):
    reader = READER
    extra_module = "h5py"


class TestRobomimic(_Hdf5):
    def make_sample(self, folder: Path) -> Sample:
        kinds = {
            "action": Kind.TABLE,
            "states": Kind.TABLE,
            "steps": Kind.TABLE,
            "observation__images__agentview_image": Kind.IMAGE,
            "observation__robot0_eef_pos": Kind.TABLE,
        }
        return Sample(write_robomimic(folder / "low_dim.hdf5"), streams(19, STAMPED, **kinds))

    def make_large_sample(self, folder: Path) -> Path:
        path = folder / "large.hdf5"
        with h5py.File(path, "w") as file:
            for d in range(4):
                file[f"data/demo_{d}/actions"] = np.zeros((250, 7))
                file[f"data/demo_{d}/obs/front_image"] = np.zeros((250, 240, 320, 3), np.uint8)
        return path


class TestAct(_Hdf5):
    def make_sample(self, folder: Path) -> Sample:
        kinds = {
            "action": Kind.JOINTS,
            "observation__state": Kind.JOINTS,
            "observation__velocity": Kind.TABLE,
            "observation__effort": Kind.TABLE,
            "observation__images__cam_high": Kind.IMAGE,
        }
        return Sample(write_act(folder / "episode_0.hdf5"), streams(12, STAMPED, **kinds))


class TestActFolder(_Hdf5):
    def make_sample(self, folder: Path) -> Sample:
        kinds = {
            "action": Kind.JOINTS,
            "observation__state": Kind.JOINTS,
            "observation__velocity": Kind.TABLE,
            "observation__effort": Kind.TABLE,
            "observation__images__cam_high": Kind.IMAGE,
        }
        root = folder / "runs"
        root.mkdir()
        for number, steps in enumerate((12, 7, 9)):
            write_act(root / f"episode_{number}.hdf5", steps)
        return Sample(root, streams(28, STAMPED, **kinds))


class TestOpenArmCollector(_Hdf5):
    def make_sample(self, folder: Path) -> Sample:
        kinds = {
            "observation__left_q": Kind.JOINTS,
            "observation__right_q": Kind.JOINTS,
            "observation__timestamp": Kind.SCALAR,
            "observation__images__top": Kind.IMAGE,
        }
        return Sample(write_openarm_collector(folder / "fold_1.h5"), streams(9, STAMPED, **kinds))


class TestDroid(_Hdf5):
    def make_sample(self, folder: Path) -> Sample:
        robot = {"robot_state__joint_positions": Kind.JOINTS, "robot_state__gripper_position": Kind.SCALAR}
        rest = {"observation__camera_extrinsics__111_left": Kind.TABLE}
        actions = {
            "cartesian_position": Kind.TABLE,
            "joint_position": Kind.JOINTS,
            "gripper_position": Kind.SCALAR,
        }
        expected = {
            **streams(10, STAMPED | LOGGED, **{f"observation__{k}": v for k, v in robot.items()}),
            **streams(10, LOGGED, **rest, timestamp=Kind.TABLE, controller_info=Kind.TABLE),
            **streams(10, LOGGED | {"publish_ns"}, **{f"action__{k}": v for k, v in actions.items()}),
            **streams(10, STAMPED | LOGGED, observation__images__wrist=Kind.IMAGE),
        }
        return Sample(write_droid(folder / "Fri_Jul_7"), expected)


class TestMapped(_Hdf5):
    def make_sample(self, folder: Path) -> Sample:
        kinds = {
            "observation__state": Kind.JOINTS,
            "observation__pose": Kind.POSE,
            "observation__images__front": Kind.IMAGE,
            "action": Kind.TABLE,
        }
        return Sample(write_mapped(folder / "runs.h5"), streams(13, STAMPED, **kinds))
