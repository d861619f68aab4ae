"""Windows as streams: forces and torques, and the classes of the failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock, Epoch
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.stream import Stream
from twinloop.core.units import UNDECLARED
from twinloop.formats.arrow_columns import constant, vectors
from twinloop.formats.gathered import TableInMemory
from twinloop.formats.robot_failures.windows import PERIOD_NS, SAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_CLOCK = Clock(Epoch.EPISODE)


def wrenches(windows: NDArray[np.float64], size: int) -> TableInMemory:
    """The samples of all windows (W, 15, 6), window after window."""
    count = len(windows) * SAMPLES
    values = windows.reshape(count, 6)
    stamps = np.arange(count, dtype=np.int64) * PERIOD_NS
    stream = Stream(
        name="force_torque",
        kind=Kind.WRENCH,
        role=Role.OBSERVATION,
        count=count,
        start_ns=0,
        end_ns=int(stamps[-1]),
        timeline="stamp_ns",
        stamp_source=StampSource.GRID,
        stamp_clock=_CLOCK,
        type_name="windows of 15 samples",
        encoding="text",
        bytes=size,
        units={"force": UNDECLARED, "torque": UNDECLARED},
        attributes={"times": "15 samples over 315 ms; windows follow each other though they did not"},
    )
    columns = {
        "stamp_ns": pa.array(stamps),
        "frame_id": constant("", count),
        "force": vectors(values[:, :3]),
        "torque": vectors(values[:, 3:]),
        "window": pa.array(np.repeat(np.arange(len(windows)), SAMPLES), pa.int64()),
    }
    return TableInMemory(stream, columns)


def labels(classes: Sequence[str]) -> TableInMemory:
    """The class of each window, from its start to its end."""
    starts = np.arange(len(classes), dtype=np.int64) * SAMPLES * PERIOD_NS
    stream = Stream(
        name="failure",
        kind=Kind.LABEL,
        role=Role.TRUTH,
        count=len(classes),
        start_ns=0,
        end_ns=int(starts[-1]),
        timeline="stamp_ns",
        stamp_source=StampSource.GRID,
        stamp_clock=_CLOCK,
        type_name="class of a window",
        encoding="text",
    )
    columns = {
        "stamp_ns": pa.array(starts),
        "end_ns": pa.array(starts + SAMPLES * PERIOD_NS),
        "name": pa.array(list(classes), pa.string()),
    }
    return TableInMemory(stream, columns)
