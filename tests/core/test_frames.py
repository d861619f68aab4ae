import numpy as np
import pytest

from twinloop.core.errors import UnknownNameError
from twinloop.core.frames import FrameError, FrameTree
from twinloop.core.se3 import SE3


def shift(x: float) -> SE3:
    return SE3(np.array([1.0, 0, 0, 0]), np.array([x, 0, 0]))


@pytest.fixture
def tree() -> FrameTree:
    tree = FrameTree()
    times = np.array([0, 100])
    moving = SE3(np.tile([1.0, 0, 0, 0], (2, 1)), np.array([[0, 0, 0], [1.0, 0, 0]]))
    tree.add_moving("world", "base", times, moving)
    tree.add_static("base", "camera", shift(10))
    tree.add_static("base", "gripper", shift(-1))
    return tree


def test_lookup_through_the_common_ancestor(tree):
    pose = tree.lookup("camera", "gripper", [50])
    assert np.allclose(pose.translation, [[-11, 0, 0]])


def test_moving_edges_are_interpolated(tree):
    assert np.allclose(tree.lookup("world", "camera", [0, 25, 100]).translation[:, 0], [10, 10.25, 11])


def test_dated_static_edges_hold_from_their_date(tree):
    tree.add_static("base", "camera", shift(20), valid_from_ns=60)
    assert np.allclose(tree.lookup("base", "camera", [59, 60]).translation[:, 0], [10, 20])


def test_no_pose_is_invented_outside_the_samples(tree):
    with pytest.raises(FrameError, match="not known at 101"):
        tree.lookup("world", "camera", [101])


def test_a_second_parent_and_a_loop_are_refused(tree):
    with pytest.raises(FrameError, match="two parents"):
        tree.add_static("world", "camera", shift(0))
    with pytest.raises(FrameError, match="loop"):
        tree.add_static("camera", "world", shift(0))


def test_unknown_and_unconnected_frames_say_what_there_is(tree):
    with pytest.raises(UnknownNameError, match="did you mean camera"):
        tree.lookup("world", "camrea", [0])
    tree.add_static("island", "palm", shift(0))
    with pytest.raises(FrameError, match="not connected"):
        tree.lookup("world", "palm", [0])
