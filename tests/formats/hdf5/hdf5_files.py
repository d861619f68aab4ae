"""Small HDF5 files in the layouts of robomimic, LIBERO, ACT, OpenArm's collector and DROID."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from twinloop.formats.video.still import encode_still

if TYPE_CHECKING:
    from pathlib import Path

T0_MS = 1_700_000_000_000


def pictures(steps: int, first: int = 0, height: int = 24, width: int = 32) -> np.ndarray:
    """(steps, H, W, 3) uint8; picture k shows first + k."""
    images = np.zeros((steps, height, width, 3), np.uint8)
    images[..., 0] = (first + np.arange(steps))[:, None, None]
    images[:, ::3, ::2, 1] = 200
    return images


def write_robomimic(path: Path, lengths: tuple[int, ...] = (5, 8, 6), *, libero: bool = False) -> Path:
    """Demonstration d's row k has action (d, k, 0...)."""
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = sum(lengths)
        env = {"env_name": "Lift", "type": 1, "env_kwargs": {"control_freq": 20, "robots": ["Panda"]}}
        data.attrs["env_args"] = json.dumps(env)
        if libero:
            data.attrs["problem_info"] = json.dumps({"language_instruction": "pick up the bowl"})
            data.attrs["macros_image_convention"] = "opengl"
            data.attrs["bddl_file_name"] = "pick.bddl"
        camera = "agentview_rgb" if libero else "agentview_image"
        for d, n in enumerate(lengths):
            demo = data.create_group(f"demo_{d}")
            demo.attrs["num_samples"] = n
            demo.attrs["model_file"] = "<mujoco/>" * 1000
            actions = np.zeros((n, 7))
            actions[:, 0], actions[:, 1] = d, np.arange(n)
            demo["actions"] = actions
            demo["states"] = np.random.default_rng(d).normal(size=(n, 32))
            demo["rewards"] = (np.arange(n) == n - 1).astype(float)
            demo["dones"] = (np.arange(n) == n - 1).astype(np.int64)
            demo.create_dataset(
                f"obs/{camera}", data=pictures(n, 10 * d), compression="gzip", chunks=(2, 24, 32, 3)
            )
            demo["obs/robot0_eef_pos"] = actions[:, :3] / 10
        file["mask/train"] = np.array([f"demo_{d}" for d in range(len(lengths) - 1)], "S8")
        file["mask/valid"] = np.array([f"demo_{len(lengths) - 1}"], "S8")
    return path


def write_act(path: Path, steps: int = 12, *, compress: bool = True, **attributes: Any) -> Path:
    """Row k has qpos (k, 0...), action (k + 1, 0...) and picture k."""
    with h5py.File(path, "w") as file:
        file.attrs["sim"] = False
        file.attrs["compress"] = compress
        for name, value in attributes.items():
            file.attrs[name] = value
        qpos = np.zeros((steps, 14))
        qpos[:, 0] = np.arange(steps)
        file["observations/qpos"] = qpos
        file["observations/qvel"] = qpos * 0
        file["observations/effort"] = qpos * 0 + 0.5
        action = qpos.copy()
        action[:, 0] += 1
        file["action"] = action
        if not compress:
            file["observations/images/cam_high"] = pictures(steps)
            return path
        jpegs = [encode_still(image, "jpeg") for image in pictures(steps)]
        padded = np.zeros((steps, max(map(len, jpegs)) + 9), np.uint8)
        for row, jpeg in zip(padded, jpegs, strict=True):
            row[: len(jpeg)] = np.frombuffer(jpeg, np.uint8)
        file.create_dataset("observations/images/cam_high", data=padded, chunks=(1, padded.shape[1]))
        file["compress_len"] = np.array([list(map(len, jpegs))], np.float64)
    return path


def write_openarm_collector(path: Path, steps: int = 9) -> Path:
    """Grown step by step, with times 33.3 ms apart."""
    with h5py.File(path, "w") as file:
        for name, width in (("left_q", 7), ("right_q", 7)):
            arms = np.full((steps, width), 0.1, np.float32)
            file.create_dataset(f"observations/{name}", data=arms, maxshape=(None, width), chunks=True)
        times = T0_MS / 1e3 + np.arange(steps) / 30
        file.create_dataset("observations/timestamp", data=times, maxshape=(None,), chunks=True)
        file.create_dataset("observations/images/top", data=pictures(steps), chunks=(1, 24, 32, 3))
    return path


def write_droid(folder: Path, steps: int = 10, images: int | None = None) -> Path:
    """A trajectory at 15 Hz with one wrist camera."""
    from clips import numbered, write_clip

    folder.mkdir(parents=True)
    step_ms = T0_MS + np.arange(steps) * 1000 // 15
    with h5py.File(folder / "trajectory.h5", "w") as file:
        file.attrs["current_task"] = "Move the cup"
        for name, width in (("cartesian_position", 6), ("joint_position", 7)):
            file[f"action/{name}"] = np.tile(np.arange(steps)[:, None], (1, width)).astype(float)
        file["action/gripper_position"] = np.linspace(0, 1, steps)
        file["observation/robot_state/joint_positions"] = np.zeros((steps, 7))
        file["observation/robot_state/gripper_position"] = np.zeros(steps)
        file["observation/camera_extrinsics/111_left"] = np.zeros((steps, 6))
        file["observation/controller_info/success"] = np.arange(steps) == steps - 1
        time = file.create_group("observation/timestamp")
        time["control/step_start"], time["control/control_start"] = step_ms, step_ms + 20
        time["control/step_end"] = step_ms + 30
        time["robot_state/read_start"], time["robot_state/read_end"] = step_ms + 1, step_ms + 2
        time["robot_state/robot_timestamp_seconds"] = 100 + np.arange(steps) // 15
        time["robot_state/robot_timestamp_nanos"] = np.arange(steps) % 15 * 66_666_666
        time["cameras/111_estimated_capture"], time["cameras/111_frame_received"] = step_ms - 40, step_ms - 5
        time["skip_action"] = np.zeros(steps, bool)
    facts = {
        "uuid": "LAB+1",
        "lab": "LAB",
        "success": True,
        "wrist_cam_serial": "111",
        "trajectory_length": steps,
    }
    (folder / "metadata_LAB+1.json").write_text(json.dumps(facts))
    (folder / "recordings/MP4").mkdir(parents=True)
    write_clip(folder / "recordings/MP4/111.mp4", map(numbered, range(images or steps)), fps=15)
    return folder


MAPPING = """
schema = 1

[episodes]
groups = "runs/*"
instruction = "task"

[time]
dataset = "t"
unit = "ms"
source = "sensor"
epoch = "boot"

[[streams]]
name = "observation.state"
kind = "joints"
columns.position = "robot/q"
names = ["shoulder", "elbow"]
units.position = "deg"

[[streams]]
name = "observation.pose"
kind = "pose"
frame_id = "base"
columns.position = ["ee[0]", "ee[1]", "ee[2]"]
columns.orientation = ["ee[6]", "ee[3]", "ee[4]", "ee[5]"]
units.position = "mm"

[[streams]]
name = "observation.images.front"
kind = "image"
dataset = "cam0"

[[streams]]
name = "action"
dataset = "command"
"""


def write_mapped(path: Path, lengths: tuple[int, ...] = (6, 7), mapping: str = MAPPING) -> Path:
    """A layout of nobody's, with the mapping file that says what it means."""
    with h5py.File(path, "w") as file:
        for number, n in enumerate(lengths):
            run = file.create_group(f"runs/{number}")
            run.attrs["task"] = f"task {number}"
            run["t"] = 1000 * (number + 1) + np.arange(n) * 20.0
            run["robot/q"] = np.stack([np.arange(n), np.full(n, number)], 1).astype(np.float32)
            run["ee"] = np.tile(np.array([1000.0, 0, 0, 0, 0, 0, 1]), (n, 1))
            run["cam0"] = pictures(n)
            run["command"] = np.ones((n, 3))
    path.with_name(path.name + ".twinloop.toml").write_text(mapping)
    return path
