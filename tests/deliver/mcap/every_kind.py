"""A recording with a stream of every kind, with values that are hard to carry."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import LAYOUTS, Column, Kind, Role
from twinloop.core.recording import EpisodeSpan
from twinloop.formats.ros.columns import arrow_type
from twinloop.testing.memory import MemoryRecording, MemoryStream, memory_stream

ROWS = 50
START = 1_700_000_000_123_456_789
_POINTS = (
    '[{"name": "x", "offset": 0, "datatype": 7, "count": 1}, '
    '{"name": "t", "offset": 4, "datatype": 6, "count": 1}]'
)


def every_kind(seed: int = 0) -> MemoryRecording:
    """One stream of each kind, all columns of its layout filled with random values."""
    rng = np.random.default_rng(seed)
    return MemoryRecording(
        [*(_stream(kind, rng) for kind in Kind), *hard_streams(rng)],
        episodes=[
            EpisodeSpan(0, START, START + 10**9, "put the cup down", "success", {"quality": "good"}),
        ],
        metadata={"robot/serial": "A1"},
        batch_rows=17,
    )


def hard_streams(rng: np.random.Generator) -> list[MemoryStream]:
    """Streams with nulls, missing times, times that messages cannot hold, columns of their own."""
    stamps = START + np.arange(ROWS) * 10**7
    fields = {"orientation": _random(_column("fixed_size_list<double>[4]"), rng)}
    with_nulls = pa.array(
        [None if i % 7 == 3 else [i, 0.5, -1.0] for i in range(ROWS)], pa.list_(pa.float64(), 3)
    )
    odd = stamps.copy()
    odd[3], odd[4] = -5, 2**62
    return [
        memory_stream("imu/with nulls", Kind.IMU, {**fields, "angular_velocity": with_nulls}, stamp_ns=stamps),
        memory_stream(
            "pose/odd times", Kind.POSE, _columns(Kind.POSE, rng), stamp_ns=odd, seq=np.arange(ROWS) + 2**33
        ),
        memory_stream(
            "wrench/of more",
            Kind.WRENCH,
            {
                **_columns(Kind.WRENCH, rng),
                "temperature": rng.normal(size=ROWS),
                "ok": np.arange(ROWS) % 2 == 0,
            },
            log_ns=stamps,
            units={"temperature": "Cel"},
            role=Role.OBSERVATION,
        ),
        memory_stream(
            "table/of all",
            Kind.TABLE,
            {
                "u8": pa.array(rng.integers(0, 255, ROWS), pa.uint8()),
                "i16 list": pa.array([list(range(i % 4)) for i in range(ROWS)], pa.list_(pa.int16())),
                "words": pa.array([["a", "bé"][: i % 3] for i in range(ROWS)], pa.list_(pa.string())),
                "nested": pa.array([{"a": i, "b": [1]} for i in range(ROWS)]),
                "half": pa.array([None if i % 2 else i for i in range(ROWS)], pa.int32()),
                "always": pa.array(["same"] * ROWS),
                "never": pa.nulls(ROWS, pa.float64()),
                "bytes": pa.array([bytes([i]) * (i % 3) for i in range(ROWS)], pa.binary()),
            },
            log_ns=stamps,
        ),
        memory_stream("empty", Kind.IMU, {"angular_velocity": np.zeros((0, 3))}, log_ns=np.zeros(0)),
    ]


def _stream(kind: Kind, rng: np.random.Generator) -> MemoryStream:
    stamps = START + np.arange(ROWS) * 10**7 + rng.integers(0, 10**6, ROWS)
    columns = _columns(kind, rng)
    payload = None
    if kind in (Kind.IMAGE, Kind.DEPTH):
        payload = [rng.bytes(4 * 3) for _ in range(ROWS)]
        sizes = {"width": 4, "height": 3, "step": 4}
        columns |= {name: pa.array([size] * ROWS, pa.int32()) for name, size in sizes.items()}
        columns |= {"encoding": _words(["mono8"] * ROWS), "is_bigendian": pa.array([False] * ROWS)}
    elif kind is Kind.POINTS:
        payload = [rng.bytes(8 * (1 + i % 5)) for i in range(ROWS)]
        columns |= {"fields": _words([_POINTS] * ROWS), "point_step": pa.array([8] * ROWS, pa.int32())}
    elif kind in (Kind.AUDIO, Kind.RAW):
        payload = [rng.bytes(i % 9) for i in range(ROWS)]
    if "message" in columns:
        columns["message"] = pa.array(np.repeat(np.arange(ROWS), np.arange(ROWS) % 4 + 1)[:ROWS])
    row = np.asarray(columns.get("message", np.arange(ROWS)))  # rows of one message share its record's times
    return memory_stream(
        f"/{kind.value}",
        kind,
        columns,
        stamp_ns=stamps,
        publish_ns=START + row * 10**7 + 1000,
        log_ns=START + row * 10**7 + 5000,
        seq=row,
        payload=payload,
        rate_hz=100.0,
        attributes={"names": "a,b"},
    )


def _columns(kind: Kind, rng: np.random.Generator) -> dict[str, pa.Array]:
    return {column.name.rstrip("?"): _random(column, rng) for column in LAYOUTS[kind]}


def _column(words: str) -> Column:
    return Column("any", words)


def _random(column: Column, rng: np.random.Generator) -> pa.Array:
    wanted = arrow_type(column.type)
    if pa.types.is_fixed_size_list(wanted):
        return pa.FixedSizeListArray.from_arrays(
            pa.array(rng.normal(size=ROWS * wanted.list_size)), wanted.list_size
        )
    if pa.types.is_list(wanted):
        inner = wanted.value_type
        if pa.types.is_dictionary(inner):
            values = [["j1", "joint two"][: int(n)] for n in rng.integers(0, 3, ROWS)]
            return pa.array(values, pa.list_(pa.string())).cast(wanted)
        numbers = [rng.integers(0, 100, int(n)).tolist() for n in rng.integers(0, 6, ROWS)]
        return pa.array(numbers, wanted)
    if pa.types.is_dictionary(wanted):
        return _words([["left", "rechts ä", ""][int(i)] for i in rng.integers(0, 3, ROWS)])
    if pa.types.is_string(wanted):
        return pa.array([f"word {i}" for i in range(ROWS)])
    if pa.types.is_boolean(wanted):
        return pa.array(rng.integers(0, 2, ROWS).astype(bool))
    if pa.types.is_integer(wanted):
        return pa.array(rng.integers(0, 1000, ROWS), wanted)
    return pa.array(rng.normal(size=ROWS), wanted)


def _words(texts: list[str]) -> pa.Array:
    return pa.array(texts).dictionary_encode()
