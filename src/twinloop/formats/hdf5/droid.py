"""DROID: a folder with trajectory.h5, metadata_<id>.json and the cameras' files under recordings/.

``action`` and ``observation`` are nested groups of datasets with one row a step. ``observation/timestamp``
holds true times in milliseconds since 1970, and the robot's own clock in seconds and nanoseconds: each part of
a step has its own (https://droid-dataset.github.io/droid/the-droid-dataset.html). Videos are found by the
cameras' serial numbers; image k is that of step k.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import TwinloopError, Where
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.recording import Attachment, Problem
from twinloop.formats.hdf5.plan import Plan, PlannedEpisode, PlannedStream, TimeColumn, Times
from twinloop.formats.hdf5.tree import flat_attributes
from twinloop.formats.steps.columns import picture_columns
from twinloop.formats.steps.decode import Joints, Table, decoder_for
from twinloop.formats.steps.names import distinct, role_of, stream_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.stream import Payload, VideoSegment
    from twinloop.formats.hdf5.tree import Tree
    from twinloop.formats.notes import Notes
    from twinloop.formats.steps.arrays import Array
    from twinloop.formats.steps.decode import Decoder, ReadRows

FILE = "trajectory.h5"
_TIMES = "observation/timestamp"
_UNIX = Clock(Epoch.UNIX)
_ROLES = ("wrist", "ext1", "ext2")


def matches(tree: Tree) -> bool:
    """Whether true times lie among the observations, and actions beside."""
    return f"{_TIMES}/control" in tree.groups and "action" in tree.groups


def plan(tree: Tree, notes: Notes) -> Plan:
    """The file is one episode; its companions lie in its folder."""
    folder = tree.path.parent
    metadata, metadata_file = _metadata(folder, notes)
    about = {**tree.attributes(""), **metadata}
    steps = _steps(tree)
    streams: list[PlannedStream] = []
    names: set[str] = set()
    for source, array in tree.arrays.items():
        if source.startswith((f"{_TIMES}/", "observation/controller_info/")):
            continue
        decoder = _decoder(array, source)
        if decoder is not None:
            name = distinct(stream_name(source, picture=decoder.kind in (Kind.IMAGE, Kind.DEPTH)), names)
            names.add(name)
            times = _times(tree, source)
            streams.append(PlannedStream(name, decoder, times, role_of(name), attributes={"key": source}))
    for group, name in ((_TIMES, "timestamp"), ("observation/controller_info", "controller_info")):
        fields = {key: f"{group}/{key}" for key in tree.children(group) if _is_column(tree, f"{group}/{key}")}
        if fields:
            times = _times(tree, group)
            streams.append(PlannedStream(name, Table(fields), times, attributes={"key": group}))
    videos = _videos(tree, metadata, steps, notes)
    files = [Path(video.segments[0].file) for video in videos]
    return Plan(
        "DROID",
        (PlannedEpisode("", _task(about), _outcome(about), {}, steps),),
        (*streams, *videos),
        None,
        flat_attributes(about),
        (*([metadata_file] if metadata_file else []), *files),
        _attachments(folder),
    )


def _decoder(array: Array, source: str) -> Decoder | None:
    leaf = source.rsplit("/", 1)[-1]
    if leaf in ("joint_position", "joint_positions") and array.is_number and len(array.shape) == 2:
        return Joints(source)
    return decoder_for(array, source)


def _is_column(tree: Tree, path: str) -> bool:
    array = tree.arrays[path]
    return array.is_number and array.shape[1:] in ((), (1,))


def _steps(tree: Tree) -> int | None:
    rows = [tree.arrays[path].rows for path in tree.arrays if path.startswith("action/")]
    return max(rows, default=None)


def _column(tree: Tree, *parts: tuple[str, str]) -> TimeColumn | None:
    """Times in some datasets, if all of them are there."""
    named = tuple((f"{_TIMES}/{name}", unit) for name, unit in parts)
    return TimeColumn(named) if all(name in tree.arrays for name, _ in named) else None


def _times(tree: Tree, source: str) -> Times | None:
    """When a part of a step was measured, sent and received; None: the file tells none of it."""
    columns: dict[str, TimeColumn | None] = {}
    stamp_source, clock = StampSource.NONE, _UNIX
    if source.startswith("observation/robot_state"):
        robot = "robot_state/robot_timestamp"
        columns["stamp_ns"] = _column(tree, (f"{robot}_seconds", "s"), (f"{robot}_nanos", "ns"))
        columns["log_ns"] = _column(tree, ("robot_state/read_end", "ms"))
        stamp_source, clock = StampSource.SENSOR, Clock(Epoch.UNKNOWN, "robot")
    elif source.startswith("action"):
        columns["publish_ns"] = _column(tree, ("control/control_start", "ms"))
        columns["log_ns"] = _column(tree, ("control/step_end", "ms"))
    else:
        columns["log_ns"] = _column(tree, ("control/step_end", "ms"))
    return _of(columns, stamp_source, clock)


def _of(columns: dict[str, TimeColumn | None], source: StampSource, clock: Clock) -> Times | None:
    there = {name: column for name, column in columns.items() if column is not None}
    if not there:
        return None
    timeline = next(name for name in ("log_ns", "stamp_ns", "publish_ns") if name in there)
    said = source if "stamp_ns" in there else StampSource.NONE
    return Times(there, timeline, said, clock, _UNIX)


@dataclass(frozen=True)
class VideoImages:
    """Image k of a video file for step k; rows past its last image have none."""

    source: str
    segment: VideoSegment
    pts: NDArray[np.int64]
    kind: Kind = Kind.IMAGE

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    def columns(
        self,
        read: ReadRows,
        rows: int,
        *,
        payload: bool,  # noqa: ARG002
    ) -> tuple[dict[str, pa.Array], Payload | None]:
        """`read` gives the steps' numbers here."""
        step = np.asarray(read("#"))
        shown = step < len(self.pts)
        pts = self.pts[np.where(shown, step, 0)] if len(self.pts) else np.zeros(rows, np.int64)
        columns = picture_columns(rows, self.segment.width, self.segment.height, self.segment.codec)
        columns["segment"] = pa.array(np.zeros(rows, np.int32), mask=~shown)
        columns["pts"] = pa.array(pts, mask=~shown)
        return columns, None


def _videos(tree: Tree, metadata: dict[str, Any], steps: int | None, notes: Notes) -> list[PlannedStream]:
    from twinloop.formats.video.probe import packet_index, video_header

    streams = []
    serials = {str(metadata.get(f"{role}_cam_serial")): role for role in _ROLES}
    for path in sorted((tree.path.parent / "recordings" / "MP4").glob("*.mp4")):
        serial, _, view = path.stem.partition("-")
        name = ".".join(["observation.images", serials.get(serial, serial), *([view] if view else [])])
        try:
            segment, images = video_header(path).segment(), packet_index(str(path)).images
        except TwinloopError as error:
            notes.add(Problem.CORRUPT, error.what, Where(file=str(path), stream=name), None)
            continue
        if len(images) != (steps or 0):
            notes.add(
                Problem.COUNT,
                f"the video has {len(images)} images, the trajectory {steps} steps",
                Where(file=str(path), stream=name),
                max(0, (steps or 0) - len(images)),
            )
        cameras = f"cameras/{serial}"
        times = _of(
            {
                "stamp_ns": _column(tree, (f"{cameras}_estimated_capture", "ms")),
                "log_ns": _column(tree, (f"{cameras}_frame_received", "ms")),
            },
            StampSource.DRIVER,
            _UNIX,
        ) or _times(tree, "observation")
        source = next(iter(times.columns.values())).parts[0][0] if times else _any(tree)
        decoder = VideoImages(source, segment, np.asarray(images))
        attributes = {"serial": serial, "encoding": segment.codec, "file": path.name}
        streams.append(
            PlannedStream(name, decoder, times, Role.OBSERVATION, attributes=attributes, segments=(segment,))
        )
    return streams


def _any(tree: Tree) -> str:
    return next(path for path in tree.arrays if path.startswith("action/"))


def _metadata(folder: Path, notes: Notes) -> tuple[dict[str, Any], Path | None]:
    """The facts beside the trajectory; the folder's first file of that name."""
    for path in sorted(folder.glob("metadata_*.json")):
        try:
            raw = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            notes.add(Problem.CORRUPT, f"the metadata cannot be read: {error}", Where(file=str(path)))
            return {}, path
        return (raw if isinstance(raw, dict) else {}), path
    return {}, None


def _task(about: dict[str, Any]) -> str | None:
    task = about.get("current_task")
    return task.strip() or None if isinstance(task, str) else None


def _outcome(about: dict[str, Any]) -> str | None:
    if isinstance(about.get("success"), bool):
        return "success" if about["success"] else "failure"
    return "failure" if about.get("failure") is True else None


def _attachments(folder: Path) -> tuple[Attachment, ...]:
    """The cameras' own recordings, which nobody but their maker's library reads."""
    found = sorted((folder / "recordings" / "SVO").glob("*.svo*"))
    return tuple(
        Attachment(
            f"recordings/SVO/{path.name}", "application/octet-stream", path.stat().st_size, file=str(path)
        )
        for path in found
    )
