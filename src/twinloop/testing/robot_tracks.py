"""The tracks of the little robot: joints, cameras, and the other sensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from twinloop.core.errors import UsageError
from twinloop.testing import pictures
from twinloop.testing.track import Track
from twinloop.testing.world.arm import JOINTS
from twinloop.testing.world.camera import View
from twinloop.testing.world.scene import SceneCamera

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.testing.world.motion import Motion

Encoding = Literal["jpeg", "h264", "raw"]

_STEP_S = 1e-3
_GRAVITY = np.array([0.0, 0.0, -9.80665])
_HAND_KG, _CUBE_KG = 0.35, 0.12


@dataclass(frozen=True, slots=True)
class CameraSpec:
    """A camera of a synthetic session.

    Attributes:
        name: ``scene`` (fixed) or ``wrist`` (on the hand); its topics start with it.
        latency_ms: mean time from exposure to the recorder; jitter_ms: mean of its random part.
    """

    name: str = "scene"
    rate_hz: float = 30.0
    width: int = 320
    height: int = 240
    encoding: Encoding = "jpeg"
    latency_ms: float = 28.0
    jitter_ms: float = 2.0

    def __post_init__(self) -> None:
        if self.name not in ("scene", "wrist"):
            raise UsageError(f"there is no camera {self.name!r}", expected="scene or wrist")
        if self.encoding not in ("jpeg", "h264", "raw"):
            raise UsageError(f"no camera sends {self.encoding!r}", expected="jpeg, h264 or raw")


class RobotTracks:
    """Makes tracks of one session. `rng` gives noise and latency; times are seconds from `start_ns`."""

    def __init__(self, motion: Motion, seed: int, start_ns: int, duration_s: float) -> None:
        self.motion = motion
        self.seed = seed
        self.start_ns = start_ns
        self.duration_s = duration_s

    def joints(self, topic: str, rate_hz: float, *, leader: bool) -> Track:
        """Joint states of the leader or the follower, with encoder noise."""
        rng = self._rng(topic)
        times = self._times(rate_hz, rng, phase_s=0.0013 if leader else 0.0)
        where = self.motion.leader if leader else self.motion.follower
        position = where(times) + rng.normal(0, 2e-4, (len(times), len(JOINTS)))
        velocity = (where(times + _STEP_S) - where(times - _STEP_S)) / (2 * _STEP_S)
        values: dict[str, NDArray[np.generic]] = {
            "position": position,
            "velocity": velocity + rng.normal(0, 2e-3, velocity.shape),
        }
        if not leader:
            error = self.motion.leader(times) - where(times)
            weight = np.array([0, 2.1, 1.1, 0.02, 0.25, 0.01, 0.1]) * np.cos(position)
            values["effort"] = 8.0 * error + weight + rng.normal(0, 0.02, velocity.shape)
        return self._track(topic, "sensor_msgs/msg/JointState", rate_hz, times, rng, 0.8, 0.2, values=values)

    def camera(self, spec: CameraSpec) -> list[Track]:
        """A camera's images and its calibration."""
        scene = SceneCamera(self.motion, spec.name, spec.width, spec.height, self.seed)
        topic, type_name = {
            "jpeg": (f"/{spec.name}/image/compressed", "sensor_msgs/msg/CompressedImage"),
            "h264": (f"/{spec.name}/image/h264", "foxglove_msgs/msg/CompressedVideo"),
            "raw": (f"/{spec.name}/image_raw", "sensor_msgs/msg/Image"),
        }[spec.encoding]
        encode = {"jpeg": pictures.jpeg, "h264": pictures.h264, "raw": pictures.raw_rgb}[spec.encoding]
        rng = self._rng(topic)
        phase = 0.004 if spec.name == "scene" else 0.011
        times = self._times(spec.rate_hz, rng, phase_s=phase)
        rows = len(times)
        images = self._track(
            topic, type_name, spec.rate_hz, times, rng, spec.latency_ms, spec.jitter_ms, f"{spec.name}_camera"
        ).with_values(content_s=times)
        attributes = {"format": spec.encoding, "encoding": "rgb8", **_size(spec, 3)}
        images = images.described(attributes, lambda wanted: encode(_rgb(scene, wanted)))
        info = self._track(
            f"/{spec.name}/camera_info",
            "sensor_msgs/msg/CameraInfo",
            spec.rate_hz,
            times,
            rng,
            spec.latency_ms / 2,
            spec.jitter_ms / 2,
            f"{spec.name}_camera",
            values={
                "k": np.tile(scene.pinhole.matrix.reshape(1, 9), (rows, 1)),
                "size": np.tile([[spec.width, spec.height]], (rows, 1)),
            },
        )
        return [images, info.stamped(images.stamp_ns)]

    def depth(self, spec: CameraSpec, rate_hz: float) -> Track:
        """A depth camera in the place of a colour camera: unsigned 16-bit millimetres, raw."""
        scene = SceneCamera(self.motion, spec.name, spec.width, spec.height, self.seed)
        topic = f"/{spec.name}/depth/image_raw"
        rng = self._rng(topic)
        times = self._times(rate_hz, rng, phase_s=0.009)
        track = self._track(
            topic, "sensor_msgs/msg/Image", rate_hz, times, rng, 34.0, 3.0, f"{spec.name}_depth"
        ).with_values(content_s=times)
        attributes = {"encoding": "16UC1", **_size(spec, 2)}
        return track.described(
            attributes, lambda wanted: pictures.raw_depth(depth for _, depth in _seen(scene, wanted))
        )

    def imu(self, rate_hz: float) -> Track:
        """An inertial unit on the hand: its orientation, rates, and specific force."""
        rng = self._rng("/imu")
        times = self._times(rate_hz, rng)
        before, now, after = (self.motion.arm(times + step) for step in (-_STEP_S, 0.0, _STEP_S))
        turn = np.einsum("nji,njk->nik", before.hand, after.hand)
        acceleration = (after.wrist - 2 * now.wrist + before.wrist) / _STEP_S**2
        force = np.einsum("nji,nj->ni", now.hand, acceleration - _GRAVITY)
        return self._track(
            "/imu",
            "sensor_msgs/msg/Imu",
            rate_hz,
            times,
            rng,
            1.5,
            0.3,
            "hand",
            values={
                "orientation": Rotation.from_matrix(now.hand).as_quat(scalar_first=True),
                "angular_velocity": Rotation.from_matrix(turn).as_rotvec() / (2 * _STEP_S)
                + rng.normal(0, 0.004, force.shape),
                "linear_acceleration": force + rng.normal(0, 0.03, force.shape),
            },
        )

    def wrench(self, rate_hz: float) -> Track:
        """A force-torque sensor at the wrist: the weight of the hand, and of the cube while it is held."""
        rng = self._rng("/wrench")
        times = self._times(rate_hz, rng)
        arm = self.motion.arm(times)
        kilograms = _HAND_KG + _CUBE_KG * self.motion.held(times)
        force = np.einsum("nji,nj->ni", arm.hand, kilograms[:, None] * _GRAVITY)
        torque = np.cross([0.08, 0.0, 0.0], force)
        return self._track(
            "/wrench",
            "geometry_msgs/msg/WrenchStamped",
            rate_hz,
            times,
            rng,
            1.0,
            0.2,
            "wrist",
            values={
                "force": force + rng.normal(0, 0.05, force.shape),
                "torque": torque + rng.normal(0, 0.004, force.shape),
            },
        )

    def transforms(self, rate_hz: float) -> list[Track]:
        """The moving frames of the hand and its camera, and the scene camera's fixed one."""
        rng = self._rng("/tf")
        times = self._times(rate_hz, rng)
        arm = self.motion.arm(times)
        wrist = SceneCamera(self.motion, "wrist", 320, 240).view(times)
        scene = SceneCamera(self.motion, "scene", 320, 240).view(times)
        pose_type = "tf2_msgs/msg/TFMessage"
        moving = self._track(
            "/tf",
            pose_type,
            rate_hz,
            times,
            rng,
            1.0,
            0.3,
            names=("base_link>hand", "base_link>wrist_camera"),
            values=_poses(View(arm.hand, arm.wrist), wrist),
        )
        fixed = self._track(
            "/tf_static",
            pose_type,
            0.0,
            np.zeros(1),
            rng,
            1.0,
            0.3,
            names=("world>base_link", "base_link>scene_camera"),
            values=_poses(View(np.eye(3)[None], np.array([[0.0, 0.0, 0.74]])), scene),
        )
        return [moving, fixed]

    def texts(self, topic: str, times_s: list[float], texts: list[str]) -> Track:
        """Strings, which have no header."""
        times = np.asarray(times_s)
        values: dict[str, NDArray[np.generic]] = {"text": np.asarray(texts)}
        track = self._track(topic, "std_msgs/msg/String", 0.0, times, self._rng(topic), 0.5, 0.1, values=values)
        return track.stamped(np.zeros(len(times), np.int64))

    def _times(self, rate_hz: float, rng: np.random.Generator, phase_s: float = 0.0) -> NDArray[np.float64]:
        """Sampling times: a steady clock with a hundredth of a period of jitter."""
        count = int((self.duration_s - phase_s) * rate_hz)
        wobble = np.clip(rng.normal(0, 0.01, count), -0.04, 0.04)
        return np.asarray(np.maximum(phase_s + (np.arange(count) + wobble) / rate_hz, 0))

    def _track(
        self,
        topic: str,
        type_name: str,
        rate_hz: float,
        times_s: NDArray[np.float64],
        rng: np.random.Generator,
        latency_ms: float,
        jitter_ms: float,
        frame_id: str = "",
        *,
        values: dict[str, NDArray[np.generic]] | None = None,
        names: tuple[str, ...] = JOINTS,
    ) -> Track:
        """Samples that reach the recorder in order, a fixed and an exponential time after their stamp."""
        stamp_ns = self.start_ns + np.rint(times_s * 1e9).astype(np.int64)
        late_ms = latency_ms - jitter_ms + rng.exponential(max(jitter_ms, 1e-9), len(times_s))
        log_ns = np.maximum.accumulate(stamp_ns + np.rint(late_ms * 1e6).astype(np.int64))
        seq = np.arange(len(times_s), dtype=np.int64)
        return Track(
            topic, type_name, rate_hz, times_s, stamp_ns, log_ns, seq, frame_id, values or {}, names=names
        )

    def _rng(self, topic: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, 3, *topic.encode()])


def _size(spec: CameraSpec, pixel_bytes: int) -> dict[str, str]:
    step = spec.width * pixel_bytes
    return {"width": str(spec.width), "height": str(spec.height), "step": str(step)}


def _rgb(scene: SceneCamera, times_s: NDArray[np.float64]) -> Iterator[NDArray[np.uint8]]:
    return (image for image, _ in _seen(scene, times_s))


def _seen(
    scene: SceneCamera, times_s: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.float32]]]:
    """What the camera sees at each time; drawn once where the same time stands several times in a row."""
    fresh = np.concatenate([[True], np.diff(times_s) != 0])[: len(times_s)]
    drawn = scene.images(times_s[fresh])
    last = None
    for new in fresh:
        if new or last is None:
            last = next(drawn)
        yield last


def _poses(*views: View) -> dict[str, NDArray[np.generic]]:
    """Frames as translation (N, K, 3) and rotation (N, K, 4) wxyz."""
    rows = max(len(view.position) for view in views)
    positions = [np.broadcast_to(view.position, (rows, 3)) for view in views]
    rotations = [
        np.broadcast_to(Rotation.from_matrix(view.rotation).as_quat(scalar_first=True), (rows, 4))
        for view in views
    ]
    return {"translation": np.stack(positions, axis=1), "rotation": np.stack(rotations, axis=1)}
