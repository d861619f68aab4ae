"""A folder of files of one episode each, as ALOHA's recorders make it: one recording."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.kinds import PAYLOAD_KINDS, TIME_COLUMNS, Kind, StampSource
from twinloop.core.recording import EpisodeSpan, Problem
from twinloop.core.stream import Batch, Stream
from twinloop.formats.hdf5.layouts import open_by_layout
from twinloop.formats.notes import Notes
from twinloop.formats.steps.grid import CLOCK
from twinloop.formats.steps.recording import StepRecording
from twinloop.formats.steps.times import one_after_another

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.formats.hdf5.recording import Hdf5Recording

#: What recorders call the files.
_NAME = re.compile(r"episode_(\d{1,9})\.(hdf5|h5)")


def episode_files(folder: Path, besides: Collection[str] = ("twinloop",)) -> list[Path]:
    """The episodes of a folder in order of their numbers; none where anything else is in it but `besides`.

    Raises:
        OSError: the folder cannot be listed.
    """
    found = {}
    for entry in folder.iterdir():
        match = _NAME.fullmatch(entry.name)
        if match is not None and entry.is_file():
            found[int(match[1]), entry.name] = entry
        elif entry.name not in besides and not entry.name.startswith("."):
            return []
    return [found[key] for key in sorted(found)]


def open_folder(path: Path) -> EpisodeFiles:
    """The files of a folder as one recording. A file that cannot be read is noted.

    Raises:
        UnreadableError: none can be read, they are of several layouts, or one has several episodes.
    """
    notes = Notes()
    parts: list[Hdf5Recording] = []
    for file in episode_files(path):
        try:
            parts.append(open_by_layout(file, file, notes))
        except UnreadableError as error:
            notes.add(Problem.CORRUPT, error.what, Where(file=str(file)), None)
    layouts = sorted({part.metadata["layout"] for part in parts})
    if len(layouts) != 1 or any(len(part.episodes) != 1 for part in parts):
        said = f"files of several layouts: {', '.join(layouts)}" if parts else "no file of it can be read"
        raise UnreadableError(
            said if len(layouts) != 1 else "a file of several episodes among its files",
            where=str(path),
            expected="files of one episode each, all of one layout",
            fix="take its files in one by one",
        )
    return EpisodeFiles(path, parts, notes)


class EpisodeFiles(StepRecording):
    """The recordings of the files, one after the other."""

    def __init__(self, path: Path, parts: list[Hdf5Recording], notes: Notes) -> None:
        spans = [part.episodes[0] for part in parts]
        starts = np.array([span.start_ns for span in spans], np.int64)
        ends = np.array([span.end_ns for span in spans], np.int64)
        self._parts = parts
        self._shift = one_after_another(starts, ends).tolist()
        self.reader_notes = notes
        super().__init__(
            path,
            "hdf5",
            files=tuple(file for part in parts for file in part.files),
            streams=self._joined(),
            episodes=tuple(map(_placed, range(len(parts)), spans, self._shift, parts)),
            metadata=parts[0].metadata,
            notes=notes.all,
        )

    @property
    def lengths(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """(E,) int64, the steps of each episode."""
        return np.array([int(part.lengths[0]) for part in self._parts], np.int64)

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        names = self.check_names(streams)
        for part, shift in zip(self._parts, self._shift, strict=True):
            window = [None if edge is None else edge - shift for edge in (start_ns, end_ns)]
            here = [name for name in names if self._fits(part, name)]
            for batch in part.scan(here, start_ns=window[0], end_ns=window[1], payload=payload):
                columns = {name: batch.columns.column(name) for name in batch.columns.schema.names}
                times = {
                    name: pa.array(np.asarray(columns.pop(name)) + shift)
                    for name in TIME_COLUMNS[:3]
                    if name in columns
                }
                made = pa.RecordBatch.from_pydict(times | self.named(batch.stream, columns))
                yield Batch(batch.stream, made, batch.payload)

    def _fits(self, part: Hdf5Recording, name: str) -> bool:
        """Whether a file has a stream, and as the others have it."""
        stream = part.streams.get(name)
        return stream is not None and _layout(stream) == self._known[name]

    def _joined(self) -> dict[str, Stream]:
        """The streams of all files; of those that differ, as the first file has them."""
        self._known: dict[str, tuple[Kind, str]] = {}
        joined: dict[str, Stream] = {}
        for part, shift in zip(self._parts, self._shift, strict=True):
            for name, stream in part.streams.items():
                known = self._known.setdefault(name, _layout(stream))
                if not self._fits(part, name):
                    self.reader_notes.add(
                        Problem.SCHEMA,
                        f"{stream.type_name or stream.kind.value} here, {known[1] or known[0]} in other files",
                        Where(file=str(part.path), stream=name),
                        stream.count,
                    )
                    continue
                placed = _moved(stream, shift)
                joined[name] = _together(joined[name], placed) if name in joined else placed
        return joined


def _layout(stream: Stream) -> tuple[Kind, str]:
    """What files agree on; each picture has a size of its own."""
    return stream.kind, "" if stream.kind in PAYLOAD_KINDS else stream.type_name


def _placed(index: int, span: EpisodeSpan, shift: int, part: Hdf5Recording) -> EpisodeSpan:
    attributes = {**span.attributes, "file": part.path.name}
    return replace(
        span, index=index, start_ns=span.start_ns + shift, end_ns=span.end_ns + shift, attributes=attributes
    )


def _moved(stream: Stream, shift: int) -> Stream:
    if not shift:
        return stream
    edges = [None if edge is None else edge + shift for edge in (stream.start_ns, stream.end_ns)]
    return replace(stream, start_ns=edges[0], end_ns=edges[1], stamp_clock=CLOCK)


def _together(first: Stream, then: Stream) -> Stream:
    """A stream of two files that follow one another."""
    starts = [edge for edge in (first.start_ns, then.start_ns) if edge is not None]
    ends = [edge for edge in (first.end_ns, then.end_ns) if edge is not None]
    alike = first.stamp_source is then.stamp_source
    return replace(
        first,
        count=(first.count or 0) + (then.count or 0),
        start_ns=min(starts, default=None),
        end_ns=max(ends, default=None),
        bytes=(first.bytes or 0) + (then.bytes or 0),
        stamp_source=first.stamp_source if alike else StampSource.GRID,
        stamp_clock=first.stamp_clock if first.stamp_clock == then.stamp_clock else CLOCK,
        rate_hz=first.rate_hz if first.rate_hz == then.rate_hz else None,
    )
