"""Proposals: right on synthetic sessions and real recordings, whatever the topics are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Cut, EpisodeCut, Feature, Mapping, Representation
from twinloop.core.recording import Recording
from twinloop.core.stream import Stream
from twinloop.formats.mapping.check import check_mapping
from twinloop.formats.mapping.episodes import cut_episodes
from twinloop.formats.mapping.proposal.cameras import camera_name
from twinloop.formats.mapping.propose import propose, propose_with_reasons
from twinloop.formats.reader import open_recording
from twinloop.testing.memory import MemoryRecording, MemoryStream, memory_stream
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import FOLLOWER, LEADER, SessionSpec, record_session, simulate
from twinloop.testing.world.arm import JOINTS

S = 1_000_000_000


def names(mapping: Mapping) -> dict[str, str]:
    return {feature.name: feature.stream for feature in mapping.features}


def fitting(recording: Recording) -> Mapping:
    """The proposal, which must fit what it was proposed for."""
    mapping = propose(recording)
    check_mapping(mapping, recording)
    assert all(feature.why for feature in mapping.features)
    assert mapping.episodes.why
    return mapping


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = (CameraSpec("scene", 10, 64, 48), CameraSpec("wrist", 5, 64, 48))
    spec = SessionSpec(duration_s=8, episodes=2, cameras=small, depth_hz=2, imu_hz=50, wrench_hz=50, tf_hz=20)
    return record_session(tmp_path_factory.mktemp("session") / "s.mcap", spec).path


class TestSyntheticSessions:
    def test_every_stream_is_in_its_place(self, session: Path) -> None:
        with open_recording(session) as recording:
            mapping = fitting(recording)
            assert names(mapping) == {
                "observation.state": FOLLOWER,
                "action": LEADER,
                "observation.images.scene": "/scene/image/compressed",
                "observation.images.wrist": "/wrist/image/compressed",
                "observation.images.scene_depth": "/scene/depth/image_raw",
                "observation.imu": "/imu",
                "observation.force": "/wrench",
                "observation.torque": "/wrench",
                "task": "/instruction",
            }
            left_out = propose_with_reasons(recording).left_out
            assert set(left_out) == {"/scene/camera_info", "/wrist/camera_info", "/tf", "/tf_static"}
            spans = cut_episodes(recording, mapping)
        state, action = mapping.features[:2]
        assert state.names == action.names == JOINTS
        assert (action.role, action.space, action.representation, action.applied) == (
            Role.ACTION,
            "joint",
            Representation.ABSOLUTE,
            False,
        )
        assert "leads /follower/joint_states by 120 ms" in action.why
        assert (mapping.episodes.by, mapping.episodes.start, mapping.episodes.stop) == (
            Cut.TOPIC,
            "start",
            "stop",
        )
        assert len(spans) == 2
        assert all("red cube" in (span.instruction or "") for span in spans)

    def test_with_shuffled_joints_and_without_markers(self, tmp_path: Path) -> None:
        from twinloop.testing.faults import ShuffledJoints

        spec = SessionSpec(
            duration_s=5, cameras=(), markers=False, instruction="", faults=(ShuffledJoints(FOLLOWER),)
        )
        with open_recording(record_session(tmp_path / "s.mcap", spec).path) as recording:
            mapping = fitting(recording)
        assert names(mapping) == {"observation.state": FOLLOWER, "action": LEADER}
        assert mapping.episodes.by is Cut.WHOLE


def joint_streams(**topics: tuple[str, bool]) -> list[MemoryStream]:
    """Joint streams of a synthetic arm: key -> (topic, whether it is the leader's motion)."""
    tracks, _ = simulate(SessionSpec(duration_s=8, cameras=()))
    streams = []
    for topic, leads in topics.values():
        track = tracks[LEADER if leads else FOLLOWER]
        streams.append(
            memory_stream(
                topic,
                Kind.JOINTS,
                {"position": np.asarray(track.values["position"], float)},
                stamp_ns=track.stamp_ns,
                names=JOINTS,
            )
        )
    return streams


class TestArms:
    def test_where_names_say_nothing_the_one_that_moves_first_is_the_action(self) -> None:
        for first, second in ((True, False), (False, True)):
            recording = MemoryRecording(joint_streams(a=("/arm/a", first), b=("/arm/b", second)))
            by_name = names(fitting(recording))
            assert by_name == {
                "observation.state": "/arm/b" if first else "/arm/a",
                "action": "/arm/a" if first else "/arm/b",
            }

    def test_where_name_and_motion_disagree_the_reason_says_so(self) -> None:
        recording = MemoryRecording(joint_streams(a=("/joint_states", True), b=("/joint_commands", False)))
        mapping = fitting(recording)
        assert names(mapping)["action"] == "/joint_commands"
        assert "after /joint_states: look at it" in mapping.features[1].why

    def test_two_arms_are_told_apart(self) -> None:
        recording = MemoryRecording(
            joint_streams(
                a=("/left/leader/joint_states", True),
                b=("/left/follower/joint_states", False),
                c=("/right/leader/joint_states", True),
                d=("/right/follower/joint_states", False),
            )
        )
        assert names(fitting(recording)) == {
            "observation.state.left": "/left/follower/joint_states",
            "action.left": "/left/leader/joint_states",
            "observation.state.right": "/right/follower/joint_states",
            "action.right": "/right/leader/joint_states",
        }

    def test_a_repeated_state_is_left_out_and_a_leader_beside_a_command_is_kept(self) -> None:
        recording = MemoryRecording(
            joint_streams(
                a=("/joint_states", False),
                b=("/robot/joint_states", False),
                c=("/joint_commands", True),
                d=("/leader/joint_states", True),
            )
        )
        proposal = propose_with_reasons(recording)
        assert names(proposal.mapping) == {
            "observation.state": "/joint_states",
            "action": "/joint_commands",
            "leader": "/leader/joint_states",
        }
        assert proposal.left_out == {"/robot/joint_states": "repeats /joint_states"}

    def test_an_array_of_commands_without_names(self) -> None:
        state, leader = joint_streams(a=("/joint_states", False), b=("x", True))
        position = leader.table.column("position").combine_chunks()
        array = memory_stream(
            "/position_controller/commands", Kind.TABLE, {"data": position}, stamp_ns=leader.times()
        )
        mapping = fitting(MemoryRecording([state, array]))
        assert names(mapping)["action"] == "/position_controller/commands"
        assert mapping.features[1].field == "data"

    def test_arm_and_gripper_in_turn_on_one_topic(self) -> None:
        names_ = pa.array([["arm_1", "arm_2"], ["gripper_left", "gripper_right"]] * 50, pa.list_(pa.string()))
        position = pa.array([[1.0, 2.0], [3.0, 4.0]] * 50, pa.list_(pa.float64()))
        stream = memory_stream(
            "/joint_states",
            Kind.JOINTS,
            {"name": names_, "position": position},
            stamp_ns=np.arange(100) * 10_000_000,
        )
        mapping = fitting(MemoryRecording([stream]))
        assert {f.name: f.names for f in mapping.features} == {
            "observation.state": ("arm_1", "arm_2"),
            "observation.state.gripper": ("gripper_left", "gripper_right"),
        }

    def test_a_single_stream_is_the_state_unless_its_name_says_otherwise(self) -> None:
        assert "observation.state" in names(fitting(MemoryRecording(joint_streams(a=("/joints", False)))))
        assert "action" in names(fitting(MemoryRecording(joint_streams(a=("/joint_commands", True)))))


def test_a_mobile_base() -> None:
    times = np.arange(0, 5, 0.1) * S
    vectors, quaternions = np.ones((50, 3)), np.tile([1.0, 0, 0, 0], (50, 1))
    odometry = memory_stream(
        "/odom",
        Kind.ODOMETRY,
        {"position": vectors, "orientation": quaternions, "linear": vectors, "angular": vectors},
        log_ns=times,
    )
    command = memory_stream("/cmd_vel", Kind.TWIST, {"linear": vectors, "angular": vectors}, log_ns=times)
    mapping = fitting(MemoryRecording([command, odometry]))
    assert names(mapping) == {"action": "/cmd_vel", "observation.state": "/odom"}
    assert mapping.by_role(Role.ACTION)[0].space == "base_twist"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["start", "stop"], ("start", "stop")),
        (["Start: pick", "Start: place", "Stop success", "Stop failure"], ("Start*", "Stop*")),
        (["episode begins", "begin", "end"], ("begin", "end")),
        (["hello", "world"], None),
        ([True, False, True], ("true", "false")),
        ([1.0, 0.0, 1.0], ("1", "0")),
    ],
)
def test_markers(values: list[object], expected: tuple[str, str] | None) -> None:
    kind, column = {str: (Kind.TEXT, "text"), bool: (Kind.TABLE, "data"), float: (Kind.SCALAR, "value")}[
        type(values[0])
    ]
    marks = memory_stream(
        "/episode_marker", kind, {column: pa.array(values)}, log_ns=[(i + 1) * S for i in range(len(values))]
    )
    cut = propose(MemoryRecording([*joint_streams(a=("/joints", False)), marks])).episodes
    if expected is None:
        assert cut.by is Cut.WHOLE
    else:
        assert (cut.by, cut.start, cut.stop) == (Cut.TOPIC, *expected)


def test_a_pause_of_the_whole_recording_cuts_but_one_stream_s_gap_does_not() -> None:
    times = np.concatenate([np.arange(0, 5, 0.1), np.arange(20, 25, 0.1)])
    joints = memory_stream(
        "/joints",
        Kind.JOINTS,
        {"position": np.zeros((100, 1))},
        stamp_ns=(times * S).astype(np.int64),
        names=["a"],
    )
    imu_times = np.arange(0, 25, 0.1)
    imu = memory_stream(
        "/imu", Kind.IMU, {"angular_velocity": np.zeros((250, 3))}, stamp_ns=(imu_times * S).astype(np.int64)
    )
    assert propose(MemoryRecording([joints])).episodes.by is Cut.GAPS
    assert propose(MemoryRecording([joints, imu])).episodes.by is Cut.WHOLE


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("/wrist/image/compressed", "wrist"),
        ("/camera/color/image_raw", "camera"),
        ("/cam_high/image_raw/compressed", "cam_high"),
        ("/left/camera/rgb/image_rect_color", "left_camera"),
        ("/image_raw", "camera"),
        ("front.mp4", "front"),
        ("observation.images.top", "top"),
        ("/zed/zed_node/rgb/image_rect_color", "zed_zed_node"),
    ],
)
def test_cameras_are_named_by_their_topics(topic: str, name: str) -> None:
    assert camera_name(Stream(topic, Kind.IMAGE)) == name


def test_of_two_streams_of_a_camera_the_smaller_is_taken() -> None:
    streams = [
        memory_stream(topic, Kind.IMAGE, {"encoding": pa.array(["x"] * 9)}, stamp_ns=np.arange(9) * S)
        for topic in ("/top/image_raw", "/top/image_raw/compressed")
    ]
    from dataclasses import replace

    sized = [
        replace(item, stream=replace(item.stream, bytes=size))
        for item, size in zip(streams, (900, 90), strict=True)
    ]
    proposal = propose_with_reasons(MemoryRecording(sized))
    assert names(proposal.mapping) == {"observation.images.top": "/top/image_raw/compressed"}
    assert proposal.left_out == {"/top/image_raw": "the same camera as /top/image_raw/compressed"}


class TestRealRecordings:
    def test_unitree_g1(self, test_data: Path) -> None:
        with open_recording(test_data / "lerobot-v21-unitree-g1") as recording:
            mapping = fitting(recording)
            assert len(cut_episodes(recording, mapping)) == 100
        assert set(names(mapping)) == {"observation.state", "action", "observation.images.cam_high", "task"}
        assert len(mapping.features[0].names) == 26
        assert mapping.episodes.by is Cut.MARKED

    def test_so101(self, test_data: Path) -> None:
        folder = test_data / "lerobot-v3-so101-SIM/local_dataset_ros2/data/lerobot_dataset_example"
        with open_recording(folder) as recording:
            mapping = fitting(recording)
        assert set(names(mapping)) == {"observation.state", "action", "observation.images.wrist", "task"}

    def test_jackal(self, test_data: Path) -> None:
        with open_recording(test_data / "robot-localization-bags/test/test2.bag") as recording:
            mapping = fitting(recording)
        assert names(mapping) == {
            "observation.state": "/jackal_velocity_controller/odom",
            "observation.imu": "/imu/data",
        }

    def test_caliscope(self, test_data: Path) -> None:
        folder = test_data / "caliscope-multicam/tests/sessions/post_optimization/calibration/extrinsic"
        with open_recording(folder) as recording:
            mapping = fitting(recording)
        assert [f.name for f in mapping.features] == [f"observation.images.cam_{i}" for i in range(4)]


class TestCheckMapping:
    recording = MemoryRecording(
        [
            *joint_streams(a=("/joints", False)),
            memory_stream("/cam", Kind.IMAGE, {"encoding": pa.array(["jpeg"])}, stamp_ns=[0]),
            memory_stream("/raw", Kind.RAW, stamp_ns=[0]),
        ]
    )

    def check(self, *features: Feature, cut: EpisodeCut | None = None, file: Path | None = None) -> str:
        from twinloop.core.errors import MappingError

        with pytest.raises(MappingError) as caught:
            check_mapping(Mapping(features, cut or EpisodeCut()), self.recording, file)
        return str(caught.value)

    def test_one_problem_keeps_its_own_words(self) -> None:
        said = self.check(Feature("a", "/joint", Role.ACTION, "position"))
        assert "no stream '/joint'" in said
        assert "did you mean /joints?" in said
        assert "more than once" in self.check(
            Feature("a", "/joints", Role.ACTION, "position", ("gripper",) * 2)
        )
        assert "taken whole" in self.check(Feature("a", "/cam", Role.OBSERVATION, "data"))
        assert "not decoded" in self.check(Feature("a", "/raw", Role.OBSERVATION))
        assert "marks no episodes" in self.check(cut=EpisodeCut(Cut.MARKED))
        assert "no stream '/x'" in self.check(cut=EpisodeCut(Cut.GAPS, "/x"))

    def test_all_problems_are_told_at_once_with_their_lines(self, tmp_path: Path) -> None:
        from twinloop.core.mapping import dump_mapping, load_mapping

        file = tmp_path / "mapping.toml"
        wrong = Mapping(
            (
                Feature("a", "/joints", Role.ACTION, "position", ("griper",)),
                Feature("b", "/joints", Role.ACTION, "positio"),
            ),
            EpisodeCut(Cut.MARKED),
        )
        file.write_text(dump_mapping(wrong))
        mapping = load_mapping(file)
        said = self.check(*mapping.features, cut=mapping.episodes, file=file)
        lines = file.read_text().splitlines()
        for text, key in (
            ("griper", 'names = ["griper"]'),
            ("positio", 'field = "positio"'),
            ("marks", "[episodes]"),
        ):
            assert f"line {lines.index(key) + 1}: " in said, key
            assert text in said
        assert "in 3 places" in said
