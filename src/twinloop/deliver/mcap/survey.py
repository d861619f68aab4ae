"""What a stream's columns are like over all of its rows, before the first message is written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.kinds import GROUPED_KINDS, TIME_COLUMNS

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

#: What ROS 2's Time and MCAP's sequence hold: int32 seconds, uint32.
_LAST_STAMP_NS = (2**31 - 1) * 1_000_000_000
LIMITS = {
    "stamp_ns": (0, _LAST_STAMP_NS),
    "publish_ns": (0, 2**63 - 1),
    "log_ns": (0, 2**63 - 1),
    "seq": (0, 2**32 - 1),
}
_UNKNOWN = object()


@dataclass(slots=True)
class Survey:
    """Attributes:
    types: column -> Arrow type. rows: how many.
    with_nulls: columns with a null somewhere. beyond: time columns with a value that no message holds.
    constants: columns that hold one value in all rows. encoding: of images, as most rows state it.
    extents: column -> least and largest of its integers. doubles: columns that single precision does not hold.
    counted: whether the column `message` counts messages from 0, and their rows share a record's times.
    """

    types: dict[str, pa.DataType] = field(default_factory=dict)
    rows: int = 0
    with_nulls: set[str] = field(default_factory=set)
    beyond: set[str] = field(default_factory=set)
    constants: dict[str, object] = field(default_factory=dict)
    encoding: str = ""
    counted: bool = True
    extents: dict[str, tuple[int, int]] = field(default_factory=dict)
    doubles: set[str] = field(default_factory=set)

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types."""
        return pa.schema(list(self.types.items()))

    @property
    def has_exceptions(self) -> bool:
        """Whether some row has a value that messages cannot hold."""
        return bool(self.beyond or (self.with_nulls - self.constants.keys()))


def survey(recording: Recording, stream: Stream) -> Survey:
    """Look at all rows of a stream, bulk bytes left out."""
    found = Survey()
    encodings: Counter[str] = Counter()
    last_message = -1
    for batch in recording.scan([stream.name], payload=False):
        columns = batch.columns
        for name in found.types.keys() - set(columns.schema.names):
            found.with_nulls.add(name)
            _hold(found, name, None)
        for name, array in zip(columns.schema.names, columns.columns, strict=True):
            if name not in found.types:
                found.types[name] = array.type
                if found.rows:
                    found.with_nulls.add(name)
                    found.constants[name] = None
            if array.null_count:
                found.with_nulls.add(name)
            _measure(found, name, array)
            if name in TIME_COLUMNS:
                low, high = LIMITS[name]
                extent = pc.min_max(array).as_py()
                if extent["min"] is not None and (extent["min"] < low or extent["max"] > high):
                    found.beyond.add(name)
            else:
                _hold(found, name, _constant(array))
        if "encoding" in columns.schema.names:
            encodings.update(name for name in columns.column("encoding").to_pylist() if name)
        if stream.kind in GROUPED_KINDS and "message" in columns.schema.names:
            found.counted &= _counts_messages(columns, last_message)
            last_message = int(columns.column("message")[-1].as_py() or 0)
        found.rows += len(batch)
    found.constants = {name: value for name, value in found.constants.items() if value is not _UNKNOWN}
    found.encoding = encodings.most_common(1)[0][0] if encodings else ""
    return found


def _measure(found: Survey, name: str, array: pa.Array) -> None:
    """How large and how fine a column's numbers are, those in lists among them."""
    while pa.types.is_list(array.type) or pa.types.is_fixed_size_list(array.type):
        array = array.flatten()
    if pa.types.is_integer(array.type):
        extent = pc.min_max(array).as_py()
        if extent["min"] is not None:
            low, high = found.extents.get(name, (extent["min"], extent["max"]))
            found.extents[name] = (min(low, extent["min"]), max(high, extent["max"]))
    elif pa.types.is_float64(array.type) and name not in found.doubles:
        values = np.asarray(array.drop_null())
        with np.errstate(over="ignore", invalid="ignore"):
            single = values.astype(np.float32).astype(np.float64)
        if not np.array_equal(values, single, equal_nan=True):
            found.doubles.add(name)


def _counts_messages(columns: pa.RecordBatch, last: int) -> bool:
    """Whether the messages of a batch go on from number `last` without a gap, each of one time of its own."""
    message = np.asarray(columns.column("message").fill_null(-9), np.int64)
    steps = np.diff(message, prepend=last)
    if not ((steps == 0) | (steps == 1)).all() or (last < 0 and message[0] != 0):
        return False
    same = np.flatnonzero(steps[1:] == 0)
    for name in ("publish_ns", "log_ns", "seq"):
        if name in columns.schema.names:
            times = np.asarray(columns.column(name).fill_null(-1), np.int64)
            if (times[same] != times[same + 1]).any():
                return False
    return True


def _constant(array: pa.Array) -> object:
    """The one value of an array; a mark for many. Of lists, only nulls are told."""
    if array.null_count == len(array):
        return None
    if array.null_count or pa.types.is_nested(array.type):
        return _UNKNOWN
    distinct = array.unique() if not pa.types.is_dictionary(array.type) else array.dictionary_decode().unique()
    return distinct[0].as_py() if len(distinct) == 1 else _UNKNOWN


def _hold(found: Survey, name: str, value: object) -> None:
    if name in TIME_COLUMNS:
        return
    known = found.constants.setdefault(name, value)
    same = known is value or (type(known) is type(value) and known == value)
    if not same:
        found.constants[name] = _UNKNOWN
