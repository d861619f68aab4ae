"""Rows of KITTI's labels as columns of boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.formats.boxes import detections, turned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CAMERA = "camera"
BOX = ("x1", "y1", "x2", "y2")
SIZE = ("height", "width", "length")
PLACE = ("x", "y", "z")
#: The words of an object's label, after which results have a score.
OBJECT = ("type", "truncated", "occluded", "alpha", *BOX, *SIZE, *PLACE, "rotation_y")
TRACKING = ("frame", "track", *OBJECT)
DETECTION = ("frame", "type", *BOX, "score", *SIZE, *PLACE, "rotation_y", "alpha")
TYPES = frozenset(
    "Car Van Truck Pedestrian Person_sitting Person Cyclist Tram Misc DontCare".split()  # noqa: SIM905
)
#: What AB3DMOT's detections call their types.
NUMBERED = {"1": "Pedestrian", "2": "Car", "3": "Cyclist"}
_MORE = ("truncated", "occluded", "alpha")


def box_columns(
    message: NDArray[np.int64],
    seq: NDArray[np.int64],
    values: Mapping[str, NDArray[np.float64]],
    types: pa.Array,
) -> dict[str, pa.Array]:
    """Columns of N boxes: `values` (N,) by the names above; `types` are words or AB3DMOT's numbers."""
    size = _stacked(values, ("length", "height", "width"))
    place = _stacked(values, PLACE)
    place[:, 1] -= size[:, 1] / 2  # from the bottom's middle to the centre; y points down
    flat = ~(size > 0).all(axis=1)  # regions that nobody looked at are boxes in the image only
    orientation = turned(values["rotation_y"], 1)
    for array in (place, size, orientation):
        array[flat] = np.nan
    tracks = None
    if "track" in values:
        tracks = pa.array(
            [None if track < 0 else str(int(track)) for track in values["track"].tolist()], pa.string()
        )
    columns = detections(
        message,
        pc.fill_null(types, ""),
        CAMERA,
        track=tracks,
        score=values.get("score"),
        position=place,
        orientation=orientation,
        size=size,
        box=_stacked(values, BOX),
    )
    more = {name: pa.array(values[name]) for name in _MORE if name in values}
    return {"seq": pa.array(seq, pa.int64())} | columns | more


def _stacked(values: Mapping[str, NDArray[np.float64]], names: tuple[str, ...]) -> NDArray[np.float64]:
    return np.stack([values[name] for name in names], axis=1)
