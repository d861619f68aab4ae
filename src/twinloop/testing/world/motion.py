"""What happens in a session: an operator moves a leader arm, the follower repeats it, a cube changes place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.testing.world.arm import FINGER_M_PER_RAD, OPEN_RAD, ArmPose, forward, reach_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

CUBE_M = 0.05

_HOME = reach_down(np.array([0.24, 0.0, 0.16]), 0.0, OPEN_RAD)
#: Parts of an episode at which the arm passes its waypoints.
_PARTS = (0.0, 0.2, 0.3, 0.36, 0.46, 0.64, 0.74, 0.8, 0.88, 1.0)
_CLOSED_AT, _OPEN_AT = 3, 6
#: Seconds at rest at home before the first, between and after episodes.
PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Cube:
    """The cube's pose for N samples: `position` (N, 3) [m], `rotation` (N, 3, 3), in the world frame."""

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]


class Motion:
    """A whole session's movement as functions of time; times are seconds (N,) from the session's start.

    In each episode the arm takes the cube from one random place on the table to another. The operator's
    hand is never quite still, so every joint moves all the time.

    Attributes:
        episodes: (start, end) of each in seconds.
    """

    def __init__(self, seed: int, duration_s: float, episodes: int, servo_lag_s: float) -> None:
        rng = np.random.default_rng([seed, 1])
        self.servo_lag_s = servo_lag_s
        length = (duration_s - PAUSE_S * (episodes + 1)) / episodes
        if length <= 0:
            raise ValueError(f"{episodes} episodes do not fit in {duration_s} s")
        starts = PAUSE_S + np.arange(episodes) * (length + PAUSE_S)
        self.episodes = [(float(start), float(start + length)) for start in starts]
        places = _places(rng, episodes + 1)
        times, joints = [-1.0], [_HOME]
        self._grasps: list[tuple[float, float]] = []
        for (start, end), source, target in zip(self.episodes, places, places[1:], strict=False):
            at = start + (end - start) * np.array(_PARTS)
            times += list(at)
            joints += _waypoints(source, target)
            self._grasps.append((float(at[_CLOSED_AT]), float(at[_OPEN_AT])))
        times.append(duration_s + 1.0)
        joints.append(_HOME)
        self._times = np.array(times)
        self._joints = np.array(joints)
        self._places = places
        self._sway_hz = rng.uniform(0.3, 1.8, (3, 7))
        self._sway_phase = rng.uniform(0, 2 * np.pi, (3, 7))
        self._sway = rng.uniform(0.003, 0.008, (3, 7)) * np.array([1, 1, 1, 4, 1, 4, 1])

    def leader(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions (N, 7) [rad] of the leader's joints.

        Minimum jerk between the waypoints (Flash and Hogan, 1985), and the sway of a hand.
        """
        segment = np.clip(np.searchsorted(self._times, times_s, "right") - 1, 0, len(self._times) - 2)
        span = self._times[segment + 1] - self._times[segment]
        part = np.clip((times_s - self._times[segment]) / span, 0, 1)[:, None]
        eased = part**3 * (10 - 15 * part + 6 * part**2)
        path = self._joints[segment] + eased * (self._joints[segment + 1] - self._joints[segment])
        phase = 2 * np.pi * times_s[:, None, None] * self._sway_hz + self._sway_phase
        return np.asarray(path + (self._sway * np.sin(phase)).sum(axis=1))

    def follower(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions (N, 7) [rad] of the follower's joints: the leader's, the servo lag ago."""
        return self.leader(times_s - self.servo_lag_s)

    def arm(self, times_s: NDArray[np.float64]) -> ArmPose:
        """Where the follower's parts are."""
        return forward(self.follower(times_s))

    def cube(self, times_s: NDArray[np.float64]) -> Cube:
        """Where the cube is: on the table, or held in the hand as it was grasped."""
        position = np.tile(_on_table(self._places[0]), (len(times_s), 1))
        rotation = np.tile(np.eye(3), (len(times_s), 1, 1))
        rest = Cube(position[:1], rotation[:1])
        for closed, opened in self._grasps:
            grasp = self.arm(np.array([closed + self.servo_lag_s]))
            held = (times_s >= closed + self.servo_lag_s) & (times_s < opened + self.servo_lag_s)
            after = times_s >= opened + self.servo_lag_s
            offset = grasp.hand[0].T @ (rest.position[0] - grasp.tip[0])
            turn = grasp.hand[0].T @ rest.rotation[0]
            carried = self.arm(times_s[held])
            position[held] = carried.tip + carried.hand @ offset
            rotation[held] = carried.hand @ turn
            released = self.arm(np.array([opened + self.servo_lag_s]))
            lying = _on_table((released.tip + released.hand @ offset)[0])
            flat = _upright(released.hand[0] @ turn)
            position[after], rotation[after] = lying, flat
            rest = Cube(lying[None], flat[None])
        return Cube(position, rotation)

    def held(self, times_s: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(N,) whether the cube hangs in the gripper."""
        lag = self.servo_lag_s
        spans = [(times_s >= a + lag) & (times_s < b + lag) for a, b in self._grasps]
        return np.asarray(np.any(spans, axis=0))


def _places(rng: np.random.Generator, count: int) -> list[NDArray[np.float64]]:
    """Places on the table, left and right in turn, each well in reach."""
    places = []
    for index in range(count):
        angle = (1 if index % 2 else -1) * rng.uniform(0.45, 0.9)
        radius = rng.uniform(0.26, 0.34)
        places.append(np.array([radius * np.cos(angle), radius * np.sin(angle), CUBE_M / 2]))
    return places


def _waypoints(source: NDArray[np.float64], target: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    above = np.array([0.0, 0.0, 0.12])
    squeeze = CUBE_M / 2 / FINGER_M_PER_RAD
    turn = float(np.arctan2(source[1], source[0])) * 0.5
    return [
        _HOME,
        reach_down(source + above, turn, OPEN_RAD),
        reach_down(source, turn, OPEN_RAD),
        reach_down(source, turn, squeeze),
        reach_down(source + above, turn, squeeze),
        reach_down(target + above, -turn, squeeze),
        reach_down(target, -turn, squeeze),
        reach_down(target, -turn, OPEN_RAD),
        reach_down(target + above, -turn, OPEN_RAD),
        _HOME,
    ]


def _on_table(place: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([place[0], place[1], CUBE_M / 2])


def _upright(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rotation about the vertical nearest to `rotation`."""
    angle = np.arctan2(rotation[1, 0] - rotation[0, 1], rotation[0, 0] + rotation[1, 1])
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
