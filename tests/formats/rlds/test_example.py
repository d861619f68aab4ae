"""tf.train.Example on the wire, held against the protobuf package."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlds_files import example

from twinloop.formats.rlds.example import (
    BrokenExampleError,
    byte_places,
    example_fields,
    floats,
    integers,
    varints,
)


def parsed(data: bytes) -> dict[str, object]:
    fields = example_fields(lambda at, size: data[at : at + size], len(data))
    values: dict[str, object] = {}
    for key, field in fields.items():
        wire = data[field.start : field.end]
        if field.form == 1:
            offset, length = byte_places(data, field.start, field.end)
            values[key] = [data[o : o + n] for o, n in zip(offset, length, strict=True)]
        else:
            values[key] = (floats if field.form == 2 else integers)(wire).tolist()
    return values


LISTS = st.one_of(
    st.lists(st.binary(max_size=300), max_size=5),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8).map(lambda v: np.array(v, np.int64)),
    st.lists(st.floats(width=32, allow_nan=False), max_size=8).map(lambda v: np.array(v, np.float32)),
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=300), LISTS, max_size=6))
def test_what_protobuf_writes_is_read(values):
    found = parsed(example(values))
    for key, value in values.items():
        if len(value):
            assert found[key] == list(value)


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_noise_is_no_example_or_some(data):
    with contextlib.suppress(BrokenExampleError, IndexError):
        parsed(data)


def test_lists_that_are_not_packed_are_read():
    assert floats(b"\x0d\x00\x00\x80\x3f\x0d\x00\x00\x00\x40").tolist() == [1.0, 2.0]
    assert integers(b"\x08\x05\x08\x96\x01\x08\x00").tolist() == [5, 150, 0]


def test_a_packed_list_in_several_runs_is_one():
    assert integers(b"\x0a\x02\x05\x06\x0a\x01\x07").tolist() == [5, 6, 7]


@pytest.mark.parametrize("data", [b"\x80", b"\x01\xff", b"\x80" * 11 + b"\x01"])
def test_a_number_that_does_not_end_is_broken(data):
    with pytest.raises(BrokenExampleError):
        varints(data)


def test_a_length_past_its_message_is_broken():
    data = bytearray(example({"a": [b"x" * 100]}))
    data[1] += 1
    with pytest.raises(BrokenExampleError, match="reaches past"):
        parsed(bytes(data))


@pytest.mark.parametrize("size", [0, 1, 127, 128, 300, 16_383, 16_384, 70_000, 2**21 - 1, 2**21 + 5])
def test_bytes_of_any_size_are_found(size):
    values = [b"x" * size, b"", b"y" * (size // 2 + 1), b"z" * 3]
    assert parsed(example({"a": values}))["a"] == values
