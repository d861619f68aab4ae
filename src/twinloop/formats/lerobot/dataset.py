"""From a dataset's metadata to its recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem
from twinloop.formats.beside.tell import tell
from twinloop.formats.lerobot.beside import find_beside, true_steps, with_stamps, with_times
from twinloop.formats.lerobot.columns import plain
from twinloop.formats.lerobot.entry import with_bases
from twinloop.formats.lerobot.episodes import read_episodes, read_tasks
from twinloop.formats.lerobot.files import DatasetFiles
from twinloop.formats.lerobot.images import open_segments
from twinloop.formats.lerobot.info import FeatureInfo, read_info
from twinloop.formats.lerobot.language import is_statements
from twinloop.formats.lerobot.recording import LeRobotRecording
from twinloop.formats.lerobot.sizes import column_bytes
from twinloop.formats.lerobot.streams import ROWS, TASK, kind_of, row_stream, stream_of
from twinloop.formats.notes import Notes
from twinloop.formats.parquet import PARQUET_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from twinloop.core.stream import Stream
    from twinloop.formats.lerobot.entry import EpisodeEntry

_PICTURES = {b"\xff\xd8": "jpeg", b"\x89PNG": "png", b"II*\0": "tiff", b"MM\0*": "tiff"}


def open_dataset(root: Path) -> LeRobotRecording:
    """The recording of the dataset at `root`.

    Raises:
        UnreadableError: info.json does not parse, is of an unknown version, or no data file is there.
    """
    notes = Notes()
    info = read_info(root, notes)
    files = DatasetFiles(root)
    cameras = tuple(name for name, feature in info.features.items() if feature.dtype == "video")
    episodes = read_episodes(info, files, cameras, notes)
    files.note_strays(notes)
    first = next((episode.data for episode in episodes if episode.data is not None), None)
    if first is None:
        raise UnreadableError(
            "not one data file of the dataset is there",
            where=str(root / "data"),
            expected=f"parquet files such as {info.data_path}",
            fix="copy the whole dataset, not its meta/ alone",
        )
    _note_orphans(files, episodes, notes)
    schema = _first_schema(episodes, notes)
    fps = info.fps or _measured_fps(first, notes)
    episodes = with_bases(episodes, fps)
    beside = find_beside(root, episodes, notes)
    steps = true_steps(beside, fps, notes)
    if steps is not None:
        episodes = with_times(episodes, steps)
    features = _with_columns(info.features, schema, root, notes)
    encodings = {
        name: _encoding(root, name, first, name in schema.names)
        for name, feature in features.items()
        if feature.dtype == "image"
    }
    streams = _streams(features, schema, episodes, fps, encodings, notes)
    if steps is not None:
        streams = {name: with_stamps(stream, episodes, steps) for name, stream in streams.items()}
    recording = LeRobotRecording(
        root,
        features=features,
        episodes=episodes,
        tasks=read_tasks(files, notes),
        fps=fps,
        streams=streams,
        files=files.all,
        metadata={**info.metadata, **_statistics(root)},
        picture_encodings=encodings,
        notes=notes,
    )
    tell(recording, beside)
    return recording


def _streams(
    features: Mapping[str, FeatureInfo],
    schema: pa.Schema,
    episodes: Sequence[EpisodeEntry],
    fps: float,
    encodings: Mapping[str, str],
    notes: Notes,
) -> dict[str, Stream]:
    streams: dict[str, Stream] = {}
    sizes = column_bytes({episode.data for episode in episodes if episode.data is not None})
    for name, feature in features.items():
        kind = kind_of(feature)
        if feature.is_bookkeeping or kind is None:
            continue
        segments = open_segments(feature, episodes, notes) if feature.dtype == "video" else ()
        if feature.dtype == "video" and not segments:
            continue
        held = sum(Path(segment.file).stat().st_size for segment in segments) or sizes.get(name)
        stream = replace(stream_of(feature, kind, episodes, fps, segments), bytes=held)
        if name in encodings:
            stream = replace(stream, attributes={**stream.attributes, "encoding": encodings[name]})
        if kind is Kind.TEXT and name in schema.names and not is_statements(schema.field(name).type):
            stream = replace(stream, count=sum(e.length for e in episodes if e.data), rate_hz=fps)
        streams[name] = stream
    kept = sum(sizes[name] for name, feature in features.items() if feature.is_bookkeeping)
    streams[ROWS] = replace(row_stream(ROWS, Kind.TABLE, episodes, fps), bytes=kept or None)
    if "task_index" in schema.names:
        streams[TASK] = row_stream(TASK, Kind.TEXT, episodes, fps, counted=False)
    return streams


def _first_schema(episodes: Sequence[EpisodeEntry], notes: Notes) -> pa.Schema:
    """The Arrow schema of the first data file that opens.

    Raises:
        UnreadableError: none opens.
    """
    import pyarrow.parquet as pq

    paths = dict.fromkeys(episode.data for episode in episodes if episode.data is not None)
    for path in paths:
        try:
            return pq.read_schema(path, memory_map=True)
        except PARQUET_ERRORS as error:
            notes.add(Problem.CORRUPT, f"the data file does not open: {error}", Where(file=str(path)), None)
    raise UnreadableError(
        f"not one of {len(paths)} data files opens",
        where=str(next(iter(paths))),
        expected="parquet files",
        fix="fetch them again: Git LFS pointers look like this when their content was not downloaded",
    )


def _with_columns(
    features: Mapping[str, FeatureInfo], schema: pa.Schema, root: Path, notes: Notes
) -> dict[str, FeatureInfo]:
    """The declared features that are there, and the columns that no feature declares."""
    here = Where(file=str(root / "meta" / "info.json"))
    known: dict[str, FeatureInfo] = {}
    for name, feature in features.items():
        in_files = feature.dtype == "image" and (root / "images" / name).is_dir()
        if feature.dtype == "video" or name in schema.names or in_files:
            known[name] = feature
        elif not feature.is_bookkeeping:
            notes.add(Problem.SCHEMA, f"feature {name} is declared, but the data has no such column", here)
    for field in schema:
        if field.name not in features:
            known[field.name] = _undeclared(field)
            if not known[field.name].is_bookkeeping:
                notes.add(Problem.SCHEMA, f"the data has a column {field.name} that info.json lacks", here)
    return known


def _undeclared(field: pa.Field) -> FeatureInfo:
    """A feature made of a column's Arrow type."""
    import pyarrow as pa

    kind, shape = field.type, []
    while pa.types.is_fixed_size_list(kind):
        shape.append(kind.list_size)
        kind = kind.value_type
    names = {"float": "float32", "double": "float64", "halffloat": "float16"}
    dtype = "string" if pa.types.is_string(kind) else names.get(str(kind), str(kind))
    if is_statements(kind):
        dtype = "language"
    elif pa.types.is_struct(kind) and any(kind.field(i).name == "bytes" for i in range(kind.num_fields)):
        dtype = "image"
    return FeatureInfo(field.name, dtype, tuple(shape) or (1,))


def _measured_fps(path: Path, notes: Notes) -> float:
    """The median rate of the timestamps in one data file."""
    import pyarrow.parquet as pq

    try:
        column = plain(pq.read_table(path, columns=["timestamp"]).column("timestamp").combine_chunks())
        steps = np.diff(np.asarray(column.to_numpy(zero_copy_only=False), np.float64))
        steps = steps[np.isfinite(steps) & (steps > 0)]
    except PARQUET_ERRORS:
        steps = np.empty(0)
    if len(steps):
        return round(1.0 / float(np.median(steps)), 3)
    notes.add(
        Problem.BAD_VALUE,
        "neither fps nor timestamps give a rate: rows are placed one a second",
        Where(file=str(path)),
    )
    return 1.0


def _encoding(root: Path, name: str, first: Path, embedded: bool) -> str:
    """The compression of an image feature's pictures, by the first one's bytes or its file's suffix."""
    if not embedded:
        files = (root / "images" / name).rglob("frame*")
        suffix = next((f.suffix.lower().lstrip(".") for f in files), "png")
        return {"jpg": "jpeg", "tif": "tiff"}.get(suffix, suffix)
    import pyarrow.parquet as pq

    from twinloop.formats.lerobot.images import picture_payload

    try:
        with pq.ParquetFile(first, memory_map=True) as file:
            batch = next(file.iter_batches(1, columns=[name]), None)
    except PARQUET_ERRORS:
        return ""
    if batch is None or not batch.num_rows:
        return ""
    head = bytes(picture_payload(batch.column(0), root)[0][0][:8])
    return next((word for magic, word in _PICTURES.items() if head.startswith(magic)), "")


def _note_orphans(files: DatasetFiles, episodes: Sequence[EpisodeEntry], notes: Notes) -> None:
    """Note data files that no episode names (v3)."""
    used = {episode.data for episode in episodes}
    orphans = [path for path in files.tables.values() if path not in used]
    if orphans:
        notes.add(
            Problem.INDEX,
            f"{len(orphans)} data files belong to no listed episode, the first is "
            f"{orphans[0].relative_to(files.root)}",
            Where(file=str(files.root / "meta")),
            None,
        )


def _statistics(root: Path) -> dict[str, str]:
    """Where the statistics lie; they are never trusted, so never read."""
    names = ("meta/stats.json", "meta/episodes_stats.jsonl")
    return {f"statistics/{name.split('/')[-1]}": name for name in names if (root / name).is_file()}
