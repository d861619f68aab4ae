"""A six-joint arm with a gripper: forward kinematics for many samples at once, and where it reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

JOINTS = (
    "base_yaw",
    "shoulder_pitch",
    "elbow_pitch",
    "forearm_roll",
    "wrist_pitch",
    "wrist_roll",
    "gripper",
)

SHOULDER_HEIGHT_M = 0.16
UPPER_ARM_M = 0.28
FOREARM_M = 0.24
PALM_M = 0.09
FINGER_M = 0.07
#: Half the opening of the fingers per radian of the gripper joint; 0 rad is closed.
FINGER_M_PER_RAD = 0.045
OPEN_RAD = 0.9


@dataclass(frozen=True, slots=True)
class ArmPose:
    """Where the arm's parts are, for N samples, in the world frame [m].

    Attributes:
        base, shoulder, elbow, wrist, palm, tip: (N, 3) points along the arm; `tip` is between the fingers.
        hand: (N, 3, 3) rotation of the hand; its x axis points to the tip, its y axis from finger to finger.
        opening: (N,) half the distance between the fingers.
    """

    base: NDArray[np.float64]
    shoulder: NDArray[np.float64]
    elbow: NDArray[np.float64]
    wrist: NDArray[np.float64]
    palm: NDArray[np.float64]
    tip: NDArray[np.float64]
    hand: NDArray[np.float64]
    opening: NDArray[np.float64]


def forward(joints: NDArray[np.float64]) -> ArmPose:
    """The arm's pose for joint positions (N, 7) [rad] in the order of `JOINTS`."""
    yaw, shoulder, elbow, forearm, wrist, roll, gripper = joints.T
    upper = _about("z", yaw) @ _about("y", -shoulder)
    lower = upper @ _about("y", -elbow)
    hand = lower @ _about("x", forearm) @ _about("y", -wrist) @ _about("x", roll)
    base = np.zeros((len(joints), 3))
    shoulder_at = base + np.array([0.0, 0.0, SHOULDER_HEIGHT_M])
    elbow_at = shoulder_at + UPPER_ARM_M * upper[:, :, 0]
    wrist_at = elbow_at + FOREARM_M * lower[:, :, 0]
    palm = wrist_at + PALM_M * hand[:, :, 0]
    tip = palm + FINGER_M * hand[:, :, 0]
    return ArmPose(base, shoulder_at, elbow_at, wrist_at, palm, tip, hand, gripper * FINGER_M_PER_RAD)


def reach_down(tip: NDArray[np.float64], turn: float, gripper: float) -> NDArray[np.float64]:
    """Joints (7,) [rad] that put the tip at (3,) [m] with the hand pointing straight down, elbow up.

    The two-link solution of the shoulder and elbow in the plane of the arm (Lynch and Park, Modern
    Robotics, section 6.1). `turn` is the wrist's roll.

    Raises:
        ValueError: the point is out of reach.
    """
    radius = float(np.hypot(tip[0], tip[1]))
    height = float(tip[2]) + PALM_M + FINGER_M - SHOULDER_HEIGHT_M
    cosine = (radius**2 + height**2 - UPPER_ARM_M**2 - FOREARM_M**2) / (2 * UPPER_ARM_M * FOREARM_M)
    if abs(cosine) > 1:
        raise ValueError(f"the arm does not reach {tip}")
    elbow = -np.arccos(cosine)
    shoulder = np.arctan2(height, radius) - np.arctan2(
        FOREARM_M * np.sin(elbow), UPPER_ARM_M + FOREARM_M * np.cos(elbow)
    )
    wrist = -np.pi / 2 - shoulder - elbow
    return np.array([np.arctan2(tip[1], tip[0]), shoulder, elbow, 0.0, wrist, turn, gripper])


def _about(axis: str, angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation matrices (N, 3, 3) about a coordinate axis."""
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrices = np.tile(np.eye(3), (len(angle), 1, 1))
    matrices[:, i, i] = matrices[:, j, j] = np.cos(angle)
    matrices[:, j, i] = np.sin(angle)
    matrices[:, i, j] = -np.sin(angle)
    return matrices
