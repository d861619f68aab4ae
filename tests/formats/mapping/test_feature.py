"""Features: the right numbers in the right order, whatever order the source has them in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinloop.core.clock import Clock, ClockModel, Epoch
from twinloop.core.errors import MappingError
from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature
from twinloop.formats.mapping.feature import read_feature, read_features
from twinloop.testing.memory import MemoryRecording, memory_stream

S = 1_000_000_000
ARM = ("a", "b", "c")


def joints(names: list[list[str]], positions: list[list[float]], **facts: object) -> MemoryRecording:
    columns = {
        "name": pa.array(names, pa.list_(pa.string())),
        "position": pa.array(positions, pa.list_(pa.float64())),
        "effort": pa.array([[]] * len(names), pa.list_(pa.float64())),
    }
    stamps = np.arange(len(names)) * S
    stream = memory_stream("/js", Kind.JOINTS, columns, stamp_ns=stamps, **facts)  # type: ignore[arg-type]
    return MemoryRecording([stream], batch_rows=3)


def state(*names: str, field: str | None = "position", unit: str = "undeclared") -> Feature:
    return Feature("observation.state", "/js", Role.OBSERVATION, field, names, unit)


@settings(max_examples=40)
@given(st.lists(st.permutations(ARM), min_size=1, max_size=12), st.permutations(ARM))
def test_joints_come_in_the_mapping_s_order_whatever_each_sample_has(
    orders: list[list[str]], wanted: list[str]
) -> None:
    value = {"a": 1.0, "b": 2.0, "c": 3.0}
    recording = joints(orders, [[10 * row + value[n] for n in names] for row, names in enumerate(orders)])
    samples = read_feature(recording, state(*wanted))
    expected = [[10 * row + value[name] for name in wanted] for row in range(len(orders))]
    np.testing.assert_array_equal(samples.values, expected)
    np.testing.assert_array_equal(samples.times_ns, np.arange(len(orders)) * S)
    assert samples.names == tuple(wanted)


def test_without_names_the_first_sample_s_order_holds() -> None:
    recording = joints([["b", "a"], ["a", "b"]], [[2, 1], [1, 2]])
    samples = read_feature(recording, state())
    assert samples.names == ("b", "a")
    np.testing.assert_array_equal(samples.values, [[2, 1], [2, 1]])


def test_another_publisher_s_samples_on_the_topic_are_passed_over() -> None:
    recording = joints([["a", "b"], ["gripper"], ["a", "b"], ["gripper"]], [[1, 2], [9], [3, 4], [8]])
    arm = read_feature(recording, state("b", "a"))
    gripper = read_feature(recording, state("gripper"))
    np.testing.assert_array_equal(arm.values, [[2, 1], [4, 3]])
    np.testing.assert_array_equal(arm.times_ns, [0, 2 * S])
    np.testing.assert_array_equal(gripper.values, [[9], [8]])
    with pytest.raises(MappingError, match="no sample of the stream has a position for all joints"):
        read_feature(recording, state("a", "gripper"))


def test_a_sample_that_lacks_a_joint_or_a_value_is_not_a_number_there() -> None:
    recording = joints([["a", "b"], ["a"], ["a", "b"]], [[1, 2], [3], [4]])
    np.testing.assert_array_equal(
        read_feature(recording, state("a", "b")).values, [[1, 2], [3, np.nan], [np.nan, np.nan]]
    )


def test_missing_names_and_fields_are_named() -> None:
    recording = joints([["shoulder", "elbow"]], [[1, 2]])
    with pytest.raises(MappingError, match=r"(?s)elbw, wrist.*elbow, shoulder.*did you mean elbow"):
        read_feature(recording, state("shoulder", "elbw", "wrist"))
    with pytest.raises(MappingError, match=r"(?s)no field 'positions'.*did you mean position"):
        read_feature(recording, state(field="positions"))
    with pytest.raises(MappingError, match="effort for all joints"):
        read_feature(recording, state(field="effort"))
    with pytest.raises(MappingError, match=r"(?s)no stream '/jss'.*did you mean /js"):
        read_feature(recording, Feature("x", "/jss", Role.ACTION, "position"))


def test_joints_without_names_are_taken_by_place() -> None:
    recording = joints([[], []], [[1, 2], [3, 4]])
    assert read_feature(recording, state()).names == ("0", "1")
    np.testing.assert_array_equal(read_feature(recording, state("1")).values, [[2], [4]])
    named = read_feature(recording, state("left", "right"))
    assert named.names == ("left", "right")
    np.testing.assert_array_equal(named.values, [[1, 2], [3, 4]])
    with pytest.raises(MappingError, match="names 3 elements, but position has 2"):
        read_feature(recording, state("p", "q", "r"))


def test_units_convert_where_both_are_declared() -> None:
    recording = joints([["a"]], [[180.0]], units={"position": "deg"})
    assert read_feature(recording, state("a", unit="rad")).values[0, 0] == pytest.approx(np.pi)
    assert read_feature(recording, state("a", unit="deg")).values[0, 0] == 180
    assert read_feature(recording, state("a")).values[0, 0] == 180
    with pytest.raises(MappingError, match="in 'm', but position of its stream is in 'deg'"):
        read_feature(recording, state("a", unit="m"))
    undeclared = joints([["a"]], [[180.0]])
    assert read_feature(undeclared, state("a", unit="rad")).values[0, 0] == 180


def test_only_the_window_is_read() -> None:
    recording = joints([["a"]] * 6, [[float(i)] for i in range(6)])
    samples = read_feature(recording, state("a"), 2 * S, 4 * S)
    np.testing.assert_array_equal(samples.values[:, 0], [2, 3])
    assert len(read_feature(recording, state("a"), 50 * S)) == 0


def test_clock_models_move_the_times_and_the_window() -> None:
    recording = joints([["a"]] * 6, [[float(i)] for i in range(6)])
    model = ClockModel(Clock(Epoch.UNIX), Clock(Epoch.UNIX, "other"), (0,), (10 * S,))
    samples = read_feature(recording, state("a"), 12 * S, 14 * S, models=(model,))
    np.testing.assert_array_equal(samples.times_ns, [12 * S, 13 * S])
    np.testing.assert_array_equal(samples.values[:, 0], [2, 3])


def test_axes_of_vectors_and_columns_of_tables() -> None:
    twist = memory_stream(
        "/cmd_vel",
        Kind.TWIST,
        {"linear": np.array([[1.0, 2, 3], [4, 5, 6]]), "angular": np.array([[7.0, 8, 9], [10, 11, 12]])},
        log_ns=[0, S],
    )
    table = memory_stream("t", Kind.TABLE, {"j1": [0.1, 0.2], "on": [True, False], "k": [5, 6]}, log_ns=[0, S])
    recording = MemoryRecording([twist, table])

    def read(stream: str, field: str | None, *names: str):  # type: ignore[no-untyped-def]
        return read_feature(recording, Feature("f", stream, Role.ACTION, field, names))

    np.testing.assert_array_equal(read("/cmd_vel", "linear", "z", "x").values, [[3, 1], [6, 4]])
    np.testing.assert_array_equal(read("/cmd_vel", None, "linear.x", "angular.z").values, [[1, 9], [4, 12]])
    assert read("/cmd_vel", None).names == (
        "linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z",
    )  # fmt: skip
    np.testing.assert_array_equal(read("t", None, "k", "j1").values, [[5, 0.1], [6, 0.2]])
    np.testing.assert_array_equal(read("t", "on").values, [[1], [0]])
    assert read("t", None).names == ("j1", "on", "k")
    with pytest.raises(MappingError, match="did you mean linear"):
        read("/cmd_vel", None, "linear.X")


def test_several_features_come_in_one_pass() -> None:
    recording = joints([["a", "b"], ["b", "a"]], [[1, 2], [2, 1]])
    first, second = state("a"), Feature("action", "/js", Role.ACTION, "position", ("b",))
    both = read_features(recording, [first, second])
    np.testing.assert_array_equal(both["observation.state"].values, [[1], [1]])
    np.testing.assert_array_equal(both["action"].values, [[2], [2]])


def test_pictures_and_texts_are_no_numbers() -> None:
    stream = memory_stream("/text", Kind.TEXT, {"text": pa.array(["a"])}, log_ns=[0])
    with pytest.raises(MappingError, match="kind text"):
        read_feature(MemoryRecording([stream]), Feature("f", "/text", Role.OBSERVATION))
