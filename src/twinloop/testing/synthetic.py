"""Synthetic teleoperation sessions: recordings with everything a real one has, and a known truth.

A person moves a leader arm, a follower arm repeats it a servo's lag later and takes a cube from one place on
a table to another, while two cameras look on. The same specification gives the same file, byte for byte.

    truth = record_session(path, SessionSpec(seed=3, faults=(DroppedSamples("/wrist/image/compressed", 4, 1),)))
    truth.planted[0].start_ns
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import UsageError
from twinloop.core.recording import EpisodeSpan
from twinloop.testing.faults import Fault, Planted
from twinloop.testing.file_faults import Damage
from twinloop.testing.mcap_writer import Compression, McapOptions, write_mcap
from twinloop.testing.robot_tracks import CameraSpec, RobotTracks
from twinloop.testing.world.motion import Motion

if TYPE_CHECKING:
    from twinloop.testing.track import Track

FOLLOWER = "/follower/joint_states"
LEADER = "/leader/joint_states"
SCENE = "/scene/image/compressed"
WRIST = "/wrist/image/compressed"
MARKER = "/episode"
INSTRUCTION = "/instruction"

TWO_CAMERAS = (CameraSpec("scene", 30.0), CameraSpec("wrist", 15.0))


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What to record.

    Attributes:
        seed: of the motion, the noise and the latencies. duration_s: of the whole recording.
        episodes: how many attempts; the topic `/episode` says ``start`` and ``stop``.
        start_ns: Unix time of the session's start (default 2026-01-05 10:00 UTC).
        servo_lag_s: by how much the follower is behind the leader.
        follower_hz, leader_hz: rates of the joint states; 0 leaves a stream out, here and below.
        cameras: topics ``/<name>/image/compressed`` (JPEG), ``/image/h264`` or ``/image_raw``.
        depth_hz: 16-bit depth of the scene. imu_hz, wrench_hz, tf_hz: the other sensors.
        instruction: text on `/instruction` before each episode; empty: no such topic.
        markers: whether `/episode` is there.
        faults: defects to plant, of the samples (`faults`) and then of the file (`file_faults`).
        compression, chunk_bytes, summary: how the MCAP file is laid out.
    """

    seed: int = 0
    duration_s: float = 10.0
    episodes: int = 1
    start_ns: int = 1_767_607_200_000_000_000
    servo_lag_s: float = 0.12
    follower_hz: float = 200.0
    leader_hz: float = 100.0
    cameras: tuple[CameraSpec, ...] = TWO_CAMERAS
    depth_hz: float = 0.0
    imu_hz: float = 0.0
    wrench_hz: float = 0.0
    tf_hz: float = 0.0
    instruction: str = "Pick up the red cube and put it down in the other ring."
    markers: bool = True
    faults: tuple[Fault | Damage, ...] = ()
    compression: Compression = "zstd"
    chunk_bytes: int = 1 << 20
    summary: bool = True


@dataclass(frozen=True, slots=True)
class Truth:
    """What is in a recorded session.

    Attributes:
        tracks: topic -> samples as written, defects included; pictures are not held.
        episodes: between the markers, on log times.
        planted: the defects, in the order of the specification.
    """

    path: Path
    spec: SessionSpec
    tracks: dict[str, Track]
    episodes: tuple[EpisodeSpan, ...]
    planted: tuple[Planted, ...] = field(default=())

    @property
    def counts(self) -> dict[str, int]:
        """topic -> number of messages written."""
        return {topic: len(track) for topic, track in self.tracks.items()}


def record_session(path: Path | str, spec: SessionSpec | None = None) -> Truth:
    """Record a synthetic session as an MCAP file.

    Raises:
        UsageError: the specification cannot be (a camera that is not there, episodes that do not fit).
        UnknownNameError: a fault names a stream, joint or time that the session does not have.
    """
    path, spec = Path(path), spec or SessionSpec()
    tracks, episodes = simulate(spec)
    planted = [fault.plant(tracks) for fault in spec.faults if isinstance(fault, Fault)]
    write_mcap(
        path,
        tracks.values(),
        McapOptions(
            spec.compression,
            spec.chunk_bytes,
            spec.summary,
            metadata={"session": {"robot": "little_arm", "seed": str(spec.seed)}},
            attachments={"notes.txt": b"A synthetic session, recorded by twinloop.\n"},
        ),
    )
    damaged = [fault.damage(path) for fault in spec.faults if isinstance(fault, Damage)]
    return Truth(path, spec, tracks, episodes, (*planted, *damaged))


def simulate(spec: SessionSpec) -> tuple[dict[str, Track], tuple[EpisodeSpan, ...]]:
    """The tracks of a session without defects, by topic, and its episodes."""
    try:
        motion = Motion(spec.seed, spec.duration_s, spec.episodes, spec.servo_lag_s)
    except ValueError as error:
        raise UsageError(str(error), fix="a longer session, or fewer episodes") from None
    robot = RobotTracks(motion, spec.seed, spec.start_ns, spec.duration_s)
    tracks: list[Track] = []
    if spec.follower_hz:
        tracks.append(robot.joints(FOLLOWER, spec.follower_hz, leader=False))
    if spec.leader_hz:
        tracks.append(robot.joints(LEADER, spec.leader_hz, leader=True))
    for camera in spec.cameras:
        tracks += robot.camera(camera)
    if spec.depth_hz:
        tracks.append(robot.depth(CameraSpec("scene"), spec.depth_hz))
    if spec.imu_hz:
        tracks.append(robot.imu(spec.imu_hz))
    if spec.wrench_hz:
        tracks.append(robot.wrench(spec.wrench_hz))
    if spec.tf_hz:
        tracks += robot.transforms(spec.tf_hz)
    edges = [edge for episode in motion.episodes for edge in episode]
    marker = robot.texts(MARKER, edges, ["start", "stop"] * spec.episodes)
    if spec.markers:
        tracks.append(marker)
    if spec.instruction:
        starts = [start - 0.2 for start, _ in motion.episodes]
        tracks.append(robot.texts(INSTRUCTION, starts, [spec.instruction] * spec.episodes))
    spans = tuple(
        EpisodeSpan(i, int(marker.log_ns[2 * i]), int(marker.log_ns[2 * i + 1]), spec.instruction or None)
        for i in range(spec.episodes)
    )
    return {track.topic: track for track in tracks}, spans
