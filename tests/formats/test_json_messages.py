"""JSON messages as columns: with schemas and without, Foxglove's, mixed, and broken ones."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from twinloop.core.kinds import Kind, StampSource
from twinloop.formats.json_messages import json_decoder
from twinloop.formats.json_schema import JsonSchemaError, declared_types
from twinloop.formats.messages import Decoded

TIME = {
    "type": "object",
    "title": "time",
    "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}},
}
STAMP = {"sec": 1_700_000_000, "nsec": 5}
STAMP_NS = 1_700_000_000_000_000_005


def decode(messages: list[Any], schema: Any = None, type_name: str = "") -> Decoded:
    raw = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
    length = np.array([len(m) for m in raw], np.int64)
    offset = 2 + np.cumsum(length + 2) - (length + 2)
    buffer = np.frombuffer(b"][".join([b"", *raw, b""]), np.uint8)
    text = "" if schema is None else json.dumps(schema)
    return json_decoder(type_name, text).decode(buffer, offset, length)


def rows_of(decoded: Decoded) -> list[dict[str, Any]]:
    return pa.table(decoded.columns).to_pylist()


def test_nested_objects_and_arrays_are_flat_columns() -> None:
    decoded = decode(
        [
            {
                "a": {"b": 1, "c": "x"},
                "list": [1, 2.5],
                "points": [{"x": 1, "tags": ["u"]}, {"x": 2}],
                "ok": True,
            },
            {"a": {"b": 2.5}, "list": [], "points": [], "extra": None},
        ]
    )
    assert decoded.rows is None
    rows = rows_of(decoded)
    assert rows[0] == {
        **{"a.b": 1.0, "a.c": "x", "list": [1.0, 2.5], "points.x": [1, 2], "points.tags": [["u"], None]},
        **{"ok": True, "extra": None},
    }
    assert rows[1]["a.b"] == 2.5 and rows[1]["points.x"] == [] and rows[1]["ok"] is None


def test_values_of_mixed_types_are_kept_as_text() -> None:
    rows = rows_of(decode([{"v": 1, "o": {"k": 1}}, {"v": "one", "o": {"k": [2]}}, {"v": [1]}]))
    assert [row["v"] for row in rows] == ["1", '"one"', "[1]"]
    assert [row["o.k"] for row in rows] == ["1", "[2]", None]


def test_large_whole_numbers_stay_whole() -> None:
    rows = rows_of(decode([{"id": 2**63 + 1, "huge": 2**70}, {"id": 3, "huge": 1}]))
    assert [row["id"] for row in rows] == [2**63 + 1, 3]
    assert [row["huge"] for row in rows] == [str(2**70), "1"]


def test_a_schema_settles_types() -> None:
    schema = {
        "type": "object",
        "properties": {
            "gain": {"type": "number"},
            "n": {"type": ["integer", "null"]},
            "blob": {"type": "string", "contentEncoding": "base64"},
            "at": TIME,
            "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "never": {"type": "string"},
        },
        "$defs": {"Item": {"type": "object", "properties": {"w": {"type": "number"}}}},
    }
    decoded = decode([{"gain": 1, "n": 2, "blob": "AAE=", "at": STAMP, "items": [{"w": 1}], "own": 7}], schema)
    types = {name: column.type for name, column in decoded.columns.items()}
    assert types["gain"] == pa.float64() and types["items.w"] == pa.list_(pa.float64())
    assert types["never"].value_type == pa.string()
    assert rows_of(decoded) == [
        {"gain": 1.0, "n": 2, "blob": b"\0\1", "at": STAMP_NS, "items.w": [1.0], "own": 7, "never": None}
    ]


def test_nothing_to_go_by_still_gives_the_schemas_columns() -> None:
    schema = {"type": "object", "properties": {"gain": {"type": "number"}, "timestamp": TIME}}
    decoded = decode([], schema)
    assert decoded.columns["gain"].type == pa.float64()
    decoder = json_decoder("own", json.dumps(schema))
    assert decoder.peek(None).kind is Kind.TABLE
    assert decoder.peek(None).stamp_source is StampSource.DRIVER
    assert json_decoder("own", "").peek(None).stamp_source is StampSource.NONE


def test_a_schema_that_lies_does_not_lose_values() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "integer"}}}
    assert rows_of(decode([{"a": "five", "b": 1.5}], schema)) == [{"a": "five", "b": 1.5}]


def test_stamps_of_headers_and_own_times() -> None:
    rows = rows_of(decode([{"header": {"stamp": {"sec": 1, "nanosec": 2}, "frame_id": "x"}, "took": STAMP}]))
    assert rows == [{"header.frame_id": "x", "took": STAMP_NS, "stamp_ns": 1_000_000_002}]


def test_foxglove_images_from_base64() -> None:
    images = [b"jpeg one", b"", b"jpeg three"]
    messages = [
        {"timestamp": STAMP, "frame_id": "cam", "format": "jpeg", "data": base64.b64encode(image).decode()}
        for image in images
    ]
    decoded = decode([*messages, {"timestamp": STAMP}], type_name="foxglove.CompressedImage")
    assert [bytes(one) for one in decoded.payload] == [*images, b""]
    assert decoded.columns["encoding"].to_pylist() == ["jpeg"] * 3 + [None]
    assert decoded.columns["stamp_ns"].to_pylist() == [STAMP_NS] * 4
    peek = json_decoder("foxglove.CompressedImage", "").peek(json.dumps(messages[0]).encode())
    assert peek.kind is Kind.IMAGE and peek.attributes["encoding"] == "jpeg"


def test_foxglove_transforms_and_joints() -> None:
    transform = {
        "timestamp": STAMP,
        "parent_frame_id": "base",
        "child_frame_id": "arm",
        "translation": {"x": 1, "y": 0, "z": 0},
        "rotation": {"x": 0, "y": 0, "z": 0, "w": 1},
    }
    decoded = decode(
        [{"transforms": [transform] * 2}, {"transforms": [transform]}], None, "foxglove.FrameTransforms"
    )
    assert decoded.rows is not None and decoded.rows.tolist() == [0, 0, 1]
    assert decoded.columns["rotation"].to_pylist() == [[1, 0, 0, 0]] * 3
    joints = {"timestamp": STAMP, "joints": [{"name": "a", "position": 1}, {"name": "b", "position": 2.5}]}
    row = rows_of(decode([joints], None, "foxglove.JointStates"))[0]
    assert (row["name"], row["position"], row["stamp_ns"]) == (["a", "b"], [1, 2.5], STAMP_NS)


def test_foxglove_fields_of_other_types_are_kept_as_they_are() -> None:
    pose = {"timestamp": "now", "frame_id": 3, "pose": {"position": {"x": "one", "y": 2, "z": 3}}}
    row = rows_of(decode([pose], None, "foxglove.PoseInFrame"))[0]
    assert (row["position"], row["pose.position.x"], row["timestamp"]) == (None, "one", "now")
    ragged = {"transforms": {"translation": {"x": [1, 2]}, "child_frame_id": ["a"]}}
    assert len(decode([ragged], None, "foxglove.FrameTransforms").columns["child"]) == 2


def test_broken_texts_give_no_row() -> None:
    decoded = decode([{"a": 1}, b'{"a": ', b"1, 2", b"", {"a": 2}, b"\xff"])
    assert decoded.bad is not None and decoded.bad.tolist() == [1, 2, 3, 5]
    assert decoded.rows is not None and decoded.rows.tolist() == [0, 4]
    assert decoded.columns["a"].to_pylist() == [1, 2]
    assert "no JSON" in decoded.why


def test_values_that_are_no_objects_and_nan() -> None:
    assert rows_of(decode([1, 2])) == [{"value": 1}, {"value": 2}]
    values = decode([b'{"a": NaN}', b'{"a": -Infinity}', {"a": 1}]).columns["a"].to_pylist()
    assert math.isnan(values[0]) and values[1:] == [-math.inf, 1.0]


def test_random_texts_never_raise() -> None:
    rng = np.random.default_rng(0)
    whole = json.dumps({"a": {"b": [1, {"c": "x"}]}, "timestamp": STAMP, "data": "AA=="}).encode()
    messages = [b"[" * 5000, b'{"a":' * 3000, whole]
    for _ in range(300):
        torn = bytearray(whole)
        for at in rng.integers(0, len(torn), 2):
            torn[at] = rng.integers(32, 127)
        messages.append(bytes(torn))
    for type_name in ("", "foxglove.CompressedImage", "foxglove.PoseInFrame", "foxglove.FrameTransforms"):
        decoded = decode(messages, None, type_name)
        assert decoded.bad is not None and 2 not in decoded.bad


def test_schemas_that_do_not_parse() -> None:
    for text in ("{", "[1]", '"text"'):
        with pytest.raises(JsonSchemaError):
            json_decoder("own", text)
    endless = {"properties": {"a": {"$ref": "#"}}}
    assert isinstance(declared_types("own", json.dumps(endless)), dict)
