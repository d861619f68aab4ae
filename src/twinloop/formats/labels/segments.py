"""The segments of one video as a stream of labels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.formats.arrow_columns import constant
from twinloop.formats.labels.tables import START, STOP, VIDEO
from twinloop.formats.time_column import ISO, to_ns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.core.stream import Payload
    from twinloop.formats.labels.tables import Video
    from twinloop.formats.notes import Notes

_SPOKEN = "narration_timestamp"
_FRAMES = {"start_frame": "start_frame", "end_frame": "stop_frame"}
#: Columns that the layout has, or that are columns of their own; all others follow as JSON.
_TAKEN = frozenset({VIDEO, START, STOP, _SPOKEN, "narration", *_FRAMES.values()})
_WHOLE = r"^\s*[+-]?\d{1,18}\s*$"
_BATCH_ROWS = 65_536


class Segments:
    """The rows of one video, in the order of their starts."""

    def __init__(self, video: str, rows: pa.Table, known: Video | None) -> None:
        self._rows = rows
        stamps = rows.column("stamp_ns").to_numpy()
        attributes = {"video": video}
        if known:
            said = {"video_fps": known.fps, "video_duration_s": known.duration, "resolution": known.resolution}
            attributes |= {name: value for name, value in said.items() if value}
        self.stream = Stream(
            name=video,
            kind=Kind.LABEL,
            count=rows.num_rows,
            start_ns=int(stamps.min()),
            end_ns=int(stamps.max()),
            timeline="stamp_ns",
            stamp_source=StampSource.GRID,
            stamp_clock=Clock(Epoch.EPISODE, video),
            type_name="action segments",
            encoding="csv",
            attributes=attributes,
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        for rows in self._rows.to_batches(max_chunksize=_BATCH_ROWS):
            texts = {name: rows.column(name) for name in rows.schema.names}
            columns = {
                "stamp_ns": texts.pop("stamp_ns"),
                "end_ns": texts.pop("end_ns"),
                "name": texts.pop("name"),
                "subject": constant(self.stream.name, rows.num_rows),
                "data": _json(texts),
            }
            more = {name: texts[name] for name in ("narrated_ns", *_FRAMES) if name in texts}
            yield pa.RecordBatch.from_pydict(columns | more), None


def segments_by_video(cells: pa.Table, path: Path, notes: Notes) -> dict[str, pa.Table]:
    """Video -> its rows, sorted by start: times as ns, frames as numbers, the rest as text.

    Rows without a video, a start or a stop are noted and left out.
    """
    start, stop = (to_ns(cells.column(name).combine_chunks(), ISO) for name in (START, STOP))
    named = np.asarray(pc.fill_null(pc.not_equal(cells.column(VIDEO).combine_chunks(), ""), False))
    good = start[1] & stop[1] & named
    if not good.all():
        lost = int((~good).sum())
        notes.add(
            Problem.BAD_VALUE,
            f"{lost} rows without a video, a start or a stop are left out",
            Where(file=str(path), row=int(np.argmin(good))),
            lost,
        )
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        "stamp_ns": pa.array(start[0]),
        "end_ns": pa.array(stop[0]),
        "name": _names(cells),
        "row": pa.array(np.arange(cells.num_rows)),
    }
    if _SPOKEN in cells.column_names:
        spoken, said = to_ns(cells.column(_SPOKEN).combine_chunks(), ISO)
        columns["narrated_ns"] = pa.array(spoken, mask=~said)
    for name, source in _FRAMES.items():
        if source in cells.column_names:
            columns[name] = _integers(cells.column(source).combine_chunks())
    columns |= {name: cells.column(name) for name in cells.column_names if name not in _TAKEN | set(columns)}
    columns[VIDEO] = cells.column(VIDEO)
    rows = pa.table(columns).filter(pa.array(good)).sort_by([(VIDEO, "ascending"), ("stamp_ns", "ascending")])
    videos = rows.column(VIDEO).combine_chunks()
    rows = rows.drop_columns([VIDEO])
    if not len(videos):
        return {}
    edges = np.flatnonzero(np.asarray(pc.not_equal(videos[1:], videos[:-1]))) + 1
    bounds = [0, *edges.tolist(), len(videos)]
    return {videos[first].as_py(): rows.slice(first, end - first) for first, end in pairwise(bounds)}


def _names(cells: pa.Table) -> pa.Array:
    """What is said of the segment: the narration, else verb and noun."""
    if "narration" in cells.column_names:
        return pc.fill_null(cells.column("narration").combine_chunks(), "")
    parts = [
        pc.fill_null(cells.column(name).combine_chunks(), "")
        for name in ("verb", "noun")
        if name in cells.column_names
    ]
    if not parts:
        return pa.array([""] * cells.num_rows)
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, " ")


def _integers(column: pa.Array) -> pa.Array:
    fits = pc.fill_null(pc.match_substring_regex(column, _WHOLE), False)
    return pc.cast(pc.utf8_trim_whitespace(pc.if_else(fits, column, None)), pa.int64())


def _json(columns: dict[str, pa.Array]) -> pa.Array:
    """The rest of each row as one JSON object; empty cells are left out."""
    others = {name: column for name, column in columns.items() if name not in ("narrated_ns", *_FRAMES)}
    rows = pa.RecordBatch.from_pydict(others).to_pylist()
    texts = [
        msgspec.json.encode({name: value for name, value in row.items() if value not in (None, "")}).decode()
        for row in rows
    ]
    return pa.array(texts, pa.string())
