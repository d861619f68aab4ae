from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from twinloop.checks.measure.values import StreamValues, ValuesMeter, element_names, watched_columns
from twinloop.core.kinds import Kind
from twinloop.core.stream import Stream


def measured(array: pa.Array, block: int = 50, names: tuple[str, ...] = ()) -> StreamValues:
    meter = ValuesMeter(["x"], names)
    table = pa.record_batch({"x": array})
    for begin in range(0, len(array), block):
        part = table.slice(begin, block)
        rows = np.arange(begin, begin + part.num_rows)
        meter.add(part, rows, rows * 10)
    return meter.finish()


def lists(matrix: np.ndarray) -> pa.Array:
    offsets = pa.array(np.arange(len(matrix) + 1, dtype=np.int32) * matrix.shape[1])
    return pa.ListArray.from_arrays(offsets, pa.array(matrix.reshape(-1)))


def numbers(seed: int = 0, shape: tuple[int, int] = (400, 3)) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("block", [1, 7, 50, 1000])
def test_not_finite_elements_are_found_at_their_rows(block: int) -> None:
    matrix = numbers()
    matrix[100:104, 1], matrix[300, 2] = np.nan, -np.inf
    [column] = measured(lists(matrix), block, ("a", "b", "c")).columns
    assert column.not_finite[1].row.tolist() == [100, 101, 102, 103]
    assert column.not_finite[1].start_ns.tolist() == [1000, 1010, 1020, 1030]
    assert column.not_finite[2].row.tolist() == [300]
    assert column.missing.tolist() == [0, 4, 0]
    assert column.names == ("a", "b", "c")
    assert column.low[0] == matrix[:, 0].min()
    assert np.isfinite([column.low, column.high]).all()


def test_scalars_and_fixed_size_lists() -> None:
    [scalar] = measured(pa.array([1.0, np.nan, 3.0])).columns
    assert scalar.not_finite[0].row.tolist() == [1]
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(numbers().reshape(-1).astype(np.float32)), 3)
    [column] = measured(fixed).columns
    assert len(column.low) == 3
    assert column.not_finite == {}


def test_rows_of_different_lengths() -> None:
    ragged = pa.array([[1.0], [], [2.0, np.inf, 3.0], None, [np.nan]])
    [column] = measured(ragged).columns
    assert column.not_finite[-1].row.tolist() == [2, 4]
    assert column.not_finite[-1].total == 2


def test_null_is_not_nan() -> None:
    [column] = measured(pa.array([1.0, None, 3.0])).columns
    assert column.not_finite == {}


@pytest.mark.parametrize("block", [1, 7, 50, 1000])
def test_standstills_across_blocks(block: int) -> None:
    matrix = numbers()
    matrix[90:120] = matrix[90]
    matrix[397:] = matrix[397]
    values = measured(lists(matrix), block)
    assert values.standstills.row.tolist() == [90]
    assert values.standstills.end_ns.tolist() == [1190]
    assert values.lengths.tolist() == [30]
    assert values.changing == pytest.approx((399 - 29 - 2) / 399)


def test_a_standstill_that_lasts_to_the_end() -> None:
    matrix = numbers()
    matrix[380:] = matrix[380]
    values = measured(lists(matrix), 64)
    assert values.standstills.row.tolist() == [380]
    assert values.lengths.tolist() == [20]


def test_which_columns_are_watched() -> None:
    schema = pa.schema(
        [
            ("stamp_ns", pa.int64()),
            ("position", pa.list_(pa.float64())),
            ("covariance", pa.list_(pa.float64())),
            ("count", pa.int32()),
            ("value", pa.float32()),
        ]
    )
    assert watched_columns(Stream("a", Kind.JOINTS), schema) == ["position", "value"]
    assert watched_columns(Stream("a", Kind.SCAN), schema) == []


def test_names_come_from_the_first_row() -> None:
    batch = pa.record_batch({"name": pa.array([["a", "b"], ["b", "a"]])})
    assert element_names(batch) == ("a", "b")
    assert element_names(pa.record_batch({"x": pa.array([1])})) == ()
