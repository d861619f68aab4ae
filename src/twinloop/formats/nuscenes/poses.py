"""Poses of the car as a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock
from twinloop.core.errors import UnreadableError
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import constant, vectors
from twinloop.formats.calibrations.values import pose_of_matrix
from twinloop.formats.gathered import TableInMemory
from twinloop.formats.nuscenes.infos import stamp_of
from twinloop.formats.time_column import epoch_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from twinloop.formats.nuscenes.infos import Infos

EGO, GLOBAL = "ego", "global"


def ego_poses(infos: Infos) -> Iterator[TableInMemory]:
    """The poses of the samples that have one and a time."""
    stamps, positions, rotations = [], [], []
    for sample in infos.samples:
        stamp = stamp_of(sample)
        if stamp is None or not sample.get("ego2global"):
            continue
        try:
            pose = pose_of_matrix(sample["ego2global"])
        except UnreadableError:
            continue
        stamps.append(stamp)
        positions.append(pose.translation[0])
        rotations.append(pose.rotation[0])
    if stamps:
        yield pose_stream(stamps, positions, rotations)


def pose_stream(stamps: ArrayLike, positions: ArrayLike, rotations: ArrayLike) -> TableInMemory:
    """A stream ``ego`` of poses in the global frame: (N,) ns, (N, 3) m, (N, 4) wxyz."""
    times = np.asarray(stamps, np.int64)
    stream = Stream(
        name=EGO,
        kind=Kind.POSE,
        count=len(times),
        start_ns=int(times.min()),
        end_ns=int(times.max()),
        timeline="stamp_ns",
        stamp_source=StampSource.SENSOR,
        stamp_clock=Clock(epoch_of(int(times[0]))),
        type_name="ego_pose",
        encoding="json",
        attributes={"child_frame_id": EGO},
    )
    columns = {
        "stamp_ns": pa.array(times),
        "frame_id": constant(GLOBAL, len(times)),
        "position": vectors(positions),
        "orientation": vectors(rotations),
    }
    return TableInMemory(stream, columns)
