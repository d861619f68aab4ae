"""From a dataset's folder to its recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.kinds import Kind, Role
from twinloop.core.recording import EpisodeSpan, Problem
from twinloop.formats.notes import Notes
from twinloop.formats.openarm.metadata import FILE, Episode, read_metadata
from twinloop.formats.openarm.pictures import pictures_of_folder, pictures_of_tar
from twinloop.formats.openarm.recording import Camera, OpenArmRecording, Part, Signal
from twinloop.formats.parquet import PARQUET_ERRORS

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.formats.openarm.metadata import Metadata

_ROLES = {"obs": ("observation", Role.OBSERVATION), "action": ("action", Role.ACTION)}
#: Column (or file, where the column is ``value``) -> field of joints.
_FIELDS = {
    "qpos": "position",
    "positions": "position",
    "qvel": "velocity",
    "velocities": "velocity",
    "qtorque": "effort",
    "torques": "effort",
}
_PLAIN = ("state", "qpos")


def open_dataset(root: Path) -> OpenArmRecording:
    """The recording of the dataset at `root`.

    Raises:
        UnreadableError: metadata.yaml cannot be read, or not one episode is there.
    """
    notes = Notes()
    metadata = read_metadata(root, notes)
    episodes = _listed(root, metadata, notes)
    signals: dict[str, Signal] = {}
    cameras: dict[str, Camera] = {}
    files = [root / name for name in (FILE, "episodes.jsonl") if (root / name).is_file()]
    for number, episode in enumerate(episodes):
        folder = root / "episodes" / episode.id
        for path in sorted(p for side in _ROLES for p in (folder / side).rglob("*.parquet")):
            if not _is_inside(path, root):
                notes.add(Problem.PATH, "a link out of the dataset is not read", Where(file=str(path)))
                continue
            files.append(path)
            _add_signal(signals, metadata, number, path, path.relative_to(folder).parts, notes)
        files += _add_cameras(cameras, metadata, number, folder / "cameras", root, notes)
    if not signals and not cameras:
        raise UnreadableError(
            "not one file of an episode can be read",
            where=str(root / "episodes"),
            expected="episodes/<id>/obs/**/*.parquet",
        )
    spans = tuple(_span(n, one, signals, cameras) for n, one in enumerate(episodes))
    return OpenArmRecording(
        root,
        signals=signals,
        cameras=cameras,
        episodes=tuple(span for span in spans if span is not None),
        files=tuple(files),
        metadata=metadata.flat,
        notes=notes,
    )


def _listed(root: Path, metadata: Metadata, notes: Notes) -> list[Episode]:
    """The episodes that are listed and there, then those that are there alone."""
    folders = {path.name for path in (root / "episodes").iterdir() if path.is_dir() and not path.is_symlink()}
    missing = [one.id for one in metadata.episodes if one.id not in folders]
    if missing:
        notes.add(
            Problem.MISSING_FILE,
            f"{len(missing)} of {len(metadata.episodes)} listed episodes are not there: "
            + ", ".join(missing[:8]),
            Where(file=str(root / "episodes")),
            None,
        )
    unlisted = sorted(folders - {one.id for one in metadata.episodes}, key=lambda name: (len(name), name))
    if unlisted:
        notes.add(
            Problem.COUNT,
            f"{len(unlisted)} episodes are there but not listed: {', '.join(unlisted[:8])}",
            Where(file=str(root / FILE)),
        )
    return [*(one for one in metadata.episodes if one.id in folders), *map(Episode, unlisted)]


def _add_signal(
    signals: dict[str, Signal],
    metadata: Metadata,
    number: int,
    path: Path,
    parts: tuple[str, ...],
    notes: Notes,
) -> None:
    """One Parquet file: ``obs/arms/left/state.parquet`` is of the stream observation.arms.left."""
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(path, memory_map=True)
        schema = footer.schema.to_arrow_schema()
        if "timestamp" not in schema.names or not pa.types.is_timestamp(schema.field("timestamp").type):
            notes.add(Problem.SCHEMA, "the file has no column of times", Where(file=str(path)), footer.num_rows)
            return
        start_ns, end_ns = _edges(footer, path)
        side, role = _ROLES[parts[0]]
        made = _planned(schema, path, metadata, parts, role)
    except PARQUET_ERRORS as error:
        notes.add(Problem.CORRUPT, f"the parquet file does not open: {error}", Where(file=str(path)), None)
        return
    stem = path.stem
    name = ".".join([side, *parts[1:-1], *([] if stem in _PLAIN and len(parts) > 2 else [stem])])
    if made is None:
        notes.add(Problem.SCHEMA, "the file has no column of numbers", Where(file=str(path)), footer.num_rows)
        return
    signal = signals.setdefault(name, made)
    if (signal.fields, signal.kind, len(signal.names)) != (made.fields, made.kind, len(made.names)):
        notes.add(
            Problem.SCHEMA,
            f"its columns are not those of {name} in other episodes; it is not read",
            Where(file=str(path), stream=name),
            footer.num_rows,
        )
        return
    signal.parts[number] = Part(path, footer.num_rows, start_ns, end_ns, path.stat().st_size)


def _planned(
    schema: pa.Schema, path: Path, metadata: Metadata, parts: tuple[str, ...], role: Role
) -> Signal | None:
    """The kind of a file's rows, by its columns."""
    columns = [one.name for one in schema if one.name != "timestamp" and _is_numbers(one.type)]
    if not columns:
        return None
    width = _width(path, columns[0])
    joints = {_FIELDS.get(path.stem if c == "value" else c): c for c in columns}
    joints.pop(None, None)
    rate = metadata.rate_hz(parts[:-1])
    if len(joints) == len(columns):
        names = metadata.joints(parts[:-1], width) or tuple(f"dim_{k}" for k in range(width))
        ordered: dict[str, str] = {
            field: joints[field] for field in ("position", "velocity", "effort") if field in joints
        }
        return Signal(Kind.JOINTS, role, ordered, names, rate)
    if len(columns) == 1 and width == 1:
        return Signal(Kind.SCALAR, role, {"value": columns[0]}, (), rate)
    return Signal(Kind.TABLE, role, {name: name for name in columns}, (), rate)


def _is_numbers(kind: pa.DataType) -> bool:
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _width(path: Path, column: str) -> int:
    """Elements in the first row."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, memory_map=True) as file:
        for batch in file.iter_batches(64, columns=[column]):
            values = batch.column(column)
            if not pa.types.is_list(values.type):
                return 1
            lengths = pc.list_value_length(values).drop_null()
            if len(lengths):
                return int(lengths[0].as_py())
    return 0


def _edges(footer: Any, path: Path) -> tuple[int, int]:
    """First and last time, by the footer's statistics where it has them in nanoseconds."""
    import pyarrow.parquet as pq

    schema = footer.schema.to_arrow_schema()
    place = [footer.schema.column(i).path for i in range(footer.num_columns)].index("timestamp")
    found = [footer.row_group(g).column(place).statistics for g in range(footer.num_row_groups)]
    nanoseconds = schema.field("timestamp").type.unit == "ns"
    if found and nanoseconds and all(one is not None and one.has_min_max for one in found):
        return min(one.min_raw for one in found), max(one.max_raw for one in found)
    times = pq.read_table(path, columns=["timestamp"]).column(0).cast(pa.timestamp("ns")).cast(pa.int64())
    times = np.asarray(times.drop_null())
    return (int(times.min()), int(times.max())) if len(times) else (0, 0)


def _add_cameras(
    cameras: dict[str, Camera], metadata: Metadata, number: int, folder: Path, root: Path, notes: Notes
) -> list[Path]:
    """The pictures of one episode; gives the files they are in."""
    files: list[Path] = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if not _is_inside(path, root):
            notes.add(Problem.PATH, "a link out of the dataset is not read", Where(file=str(path)))
            continue
        pictures = pictures_of_folder(path) if path.is_dir() else None
        if path.suffix == ".tar":
            pictures = pictures_of_tar(path, notes)
        if pictures is None or not len(pictures.stamp_ns):
            continue
        key = path.name.removesuffix(".tar")
        camera = cameras.setdefault(f"observation.images.{key}", Camera(metadata.rate_hz(("cameras", key))))
        camera.parts[number] = pictures
        files += pictures.files or (path,)
    return files


def _is_inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


def _span(
    number: int, episode: Episode, signals: dict[str, Signal], cameras: dict[str, Camera]
) -> EpisodeSpan | None:
    """An episode from its first sample to its last; None: it has none."""
    parts = [s.parts[number] for s in signals.values() if number in s.parts and s.parts[number].rows]
    edges = [edge for part in parts for edge in (part.start_ns, part.end_ns)]
    for camera in cameras.values():
        if number in camera.parts:
            times = camera.parts[number].stamp_ns
            edges += [int(times[0]), int(times[-1])]
    if not edges:
        return None
    return EpisodeSpan(
        number, min(edges), max(edges) + 1, episode.instruction, episode.outcome, episode.attributes
    )
