"""Boxes of infos as streams.

Of nuScenes they lie in the LiDAR's frame, their length along x, width along y, height along z, given by their
centres. Of KITTI, and per camera, they lie in the camera's frame with length, height, width along x, y, z and
turn about y; KITTI gives the middle of the bottom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.stream import Stream
from twinloop.formats.boxes import detections, turned
from twinloop.formats.gathered import TableInMemory
from twinloop.formats.nuscenes.infos import sample_number, stamp_of
from twinloop.formats.time_column import epoch_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.formats.nuscenes.infos import Infos

_TAKEN = frozenset({"bbox", "bbox_3d", "bbox_label", "bbox_label_3d", "score"})


def box_streams(infos: Infos, lidar: str) -> Iterator[TableInMemory]:
    """The boxes of samples, and those of each camera."""
    rows = [
        (stamp_of(sample), sample_number(sample, number), _boxes(sample.get("instances")))
        for number, sample in enumerate(infos.samples)
    ]
    frame = ("CAM2" if "CAM2" in infos.cameras else "camera") if infos.is_kitti else lidar
    if any(boxes for _, _, boxes in rows):
        yield _stream("boxes", rows, infos, frame, in_camera=infos.is_kitti)
    for camera in infos.cameras:
        shown = []
        for number, sample in enumerate(infos.samples):
            entry = _entry(sample.get("images"), camera)
            boxes = _boxes(_entry(sample, "cam_instances").get(camera))
            shown.append((stamp_of(entry), sample_number(sample, number), boxes))
        if any(boxes for _, _, boxes in shown):
            yield _stream(f"{camera}/boxes", shown, infos, camera, in_camera=True)


def _stream(
    name: str,
    rows: list[tuple[int | None, int, list[dict[str, Any]]]],
    infos: Infos,
    frame: str,
    *,
    in_camera: bool,
) -> TableInMemory:
    rows = [row for row in rows if row[2]]
    counts = [len(boxes) for _, _, boxes in rows]
    boxes = [box for _, _, held in rows for box in held]
    position, orientation, size = _placed(boxes, in_camera, stands=infos.is_kitti)
    flat = np.array([_numbers(box.get("bbox"), 4) for box in boxes])
    stamps = [stamp for stamp, _, _ in rows if stamp is not None]
    timed = len(stamps) == len(rows)
    times = {"stamp_ns": pa.array(np.repeat(stamps, counts), pa.int64())} if timed else {}
    times["seq"] = pa.array(np.repeat([number for _, number, _ in rows], counts), pa.int64())
    columns = detections(
        np.repeat(np.arange(len(rows)), counts),
        [_category(box, infos) for box in boxes],
        frame,
        score=[_number(box.get("score")) for box in boxes] if any("score" in box for box in boxes) else None,
        position=position,
        orientation=orientation,
        size=size,
        box=flat if not np.isnan(flat).all() else None,
        data=[_rest(box) for box in boxes],
    )
    stream = Stream(
        name=name,
        kind=Kind.DETECTIONS,
        role=Role.TRUTH,
        count=len(rows),
        start_ns=min(stamps) if timed else None,
        end_ns=max(stamps) if timed else None,
        timeline="stamp_ns",
        stamp_source=StampSource.SENSOR if timed else StampSource.NONE,
        stamp_clock=Clock(epoch_of(stamps[0])) if timed else Clock(),
        type_name=f"{infos.dataset} boxes",
        encoding="json",
        attributes={"boxes": str(len(boxes))},
    )
    return TableInMemory(stream, times | columns)


def _placed(
    boxes: list[dict[str, Any]], in_camera: bool, *, stands: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Centres (N, 3), orientations (N, 4) and sizes (N, 3); NaN where there is no box in space."""
    values = np.array([_numbers(box.get("bbox_3d"), 7) for box in boxes])
    position, size, yaw = values[:, :3].copy(), values[:, 3:6], values[:, 6]
    if stands:
        position[:, 1] -= size[:, 1] / 2  # the camera's y points down
    return position, turned(yaw, 1 if in_camera else 2), size


def _boxes(value: object) -> list[dict[str, Any]]:
    return [box for box in value if isinstance(box, dict)] if isinstance(value, list) else []


def _entry(value: object, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _numbers(value: object, count: int) -> list[float]:
    """The first `count` numbers of a list; NaN where it has other things or fewer."""
    numbers = [_number(one) for one in value[:count]] if isinstance(value, list) else []
    return numbers if len(numbers) == count else [np.nan] * count


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e15 else np.nan


def _category(box: dict[str, Any], infos: Infos) -> str:
    label = box.get("bbox_label_3d", box.get("bbox_label"))
    return infos.categories.get(label, str(label)) if isinstance(label, int) else ""


def _rest(box: dict[str, Any]) -> str:
    return msgspec.json.encode({key: value for key, value in box.items() if key not in _TAKEN}).decode()
