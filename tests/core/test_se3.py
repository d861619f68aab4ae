import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from twinloop.core.errors import UsageError
from twinloop.core.se3 import SE3, from_xyzw, to_xyzw

twists = arrays(np.float64, (3, 6), elements=st.floats(-1.7, 1.7))


@given(twists)
def test_log_undoes_exp(twist):
    assert np.allclose(SE3.exp(twist).log(), twist, atol=1e-9)


@given(twists, twists)
def test_composition_is_matrix_product(a, b):
    left, right = SE3.exp(a), SE3.exp(b)
    assert np.allclose((left @ right).matrix(), left.matrix() @ right.matrix(), atol=1e-12)


@given(twists)
def test_inverse_composes_to_identity(twist):
    pose = SE3.exp(twist)
    assert np.allclose((pose @ pose.inverse()).matrix(), np.eye(4), atol=1e-12)


@given(twists, arrays(np.float64, (3, 3), elements=st.floats(-5, 5)))
def test_points_move_as_the_matrix_says(twist, points):
    pose = SE3.exp(twist)
    homogeneous = np.c_[points, np.ones(3)]
    assert np.allclose(pose.apply(points), np.einsum("nij,nj->ni", pose.matrix(), homogeneous)[:, :3])


def test_interpolation_takes_the_shorter_arc_and_meets_its_ends():
    start = SE3.identity()
    quarter = SE3(-np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)]), np.array([2.0, 0, 0]))
    middle = start.interpolate(quarter, [0.0, 0.5, 1.0])
    assert np.allclose(middle.apply(np.zeros(3)), [[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    angles = np.linalg.norm(middle.log()[:, 3:], axis=1)
    assert np.allclose(angles, [0, np.pi / 4, np.pi / 2])


def test_xyzw_and_wxyz_are_named_and_inverse():
    assert from_xyzw([1, 2, 3, 4]).tolist() == [4, 1, 2, 3]
    assert to_xyzw(from_xyzw([1, 2, 3, 4])).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("quaternion", [[0, 0, 0, 0], [np.nan, 0, 0, 1]])
def test_a_quaternion_without_direction_is_refused_with_its_row(quaternion):
    with pytest.raises(UsageError, match="row 1"):
        SE3(np.array([[1, 0, 0, 0], quaternion]), np.zeros((2, 3)))
