"""An HDF5 file as one recording: datasets are read in runs of rows that end where their chunks do."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.kinds import PAYLOAD_KINDS, TIME_COLUMNS
from twinloop.core.recording import EpisodeSpan, Problem
from twinloop.core.stream import Batch, Stream
from twinloop.core.timeline import in_window
from twinloop.formats.hdf5.apart import apart
from twinloop.formats.hdf5.plan import path_in
from twinloop.formats.hdf5.tree import H5_ERRORS, open_file, read_rows
from twinloop.formats.steps.grid import CLOCK, StepGrid, by_chunks
from twinloop.formats.steps.recording import StepRecording
from twinloop.formats.steps.room import Room
from twinloop.formats.steps.times import one_after_another, timed
from twinloop.formats.time_column import floats_to_ns, to_ns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    import h5py
    from numpy.typing import NDArray

    from twinloop.formats.hdf5.plan import Plan, PlannedStream, TimeColumn
    from twinloop.formats.notes import Notes
    from twinloop.formats.steps.arrays import Array

#: Bytes and rows read at a time.
_BATCH_BYTES, _BATCH_ROWS, _HEAP_ROWS = 8 << 20, 16_384, 256


class Hdf5Recording(StepRecording):
    """See the package's page for the layouts."""

    def __init__(
        self, path: Path, file: Path, plan: Plan, arrays: dict[str, Array], opened: h5py.File, notes: Notes
    ) -> None:
        self._file = file
        self._arrays = arrays
        self._plan = plan
        self.reader_notes = notes
        self._like: dict[str, Array] = {}
        self._sound: set[str] = set()
        self._room = Room()
        lengths = [
            max([episode.steps or 0, *(self._rows(s, k) for s in plan.streams)])
            for k, episode in enumerate(plan.episodes)
        ]
        self._grid = StepGrid(np.array(lengths, np.int64), plan.rate_hz)
        if (told := plan.stamps) is not None:
            where = Where(file=str(file), stream=told.source)
            self._grid = timed(self._grid, told.times_ns, told.stamps, told.source, notes, where)
        self._planned = {stream.name: stream for stream in plan.streams}
        edges = self._read_edges(opened)
        spans = self._spans(edges)
        starts = np.array([span.start_ns for span in spans], np.int64)
        self._shift = one_after_another(starts, np.array([span.end_ns for span in spans], np.int64))
        edges = {
            key: (a + int(self._shift[key[1]]), b + int(self._shift[key[1]])) for key, (a, b) in edges.items()
        }
        streams = {stream.name: self._stream(stream, edges) for stream in plan.streams}
        super().__init__(
            path,
            "hdf5",
            files=(file, *plan.files),
            streams=streams,
            episodes=self._spans(edges),
            metadata={"layout": plan.layout, **plan.metadata},
            attachments=plan.attachments,
            notes=notes.all,
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(E,) int64, the steps of each episode."""
        return self._grid.lengths

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        names = self.check_names(streams)
        if not names:
            return
        try:
            self._try_heaps(names)
            with open_file(self._file) as file:
                for episode in range(len(self._plan.episodes)):
                    for name in names:
                        yield from self._episode(file, self._planned[name], episode, start_ns, end_ns, payload)
        except UnreadableError as error:  # it was there when the recording was opened
            self.reader_notes.add(Problem.CORRUPT, error.what, Where(file=str(self._file)), None)

    def _try_heaps(self, names: list[str]) -> None:
        """Read the values of any length once apart: it is over them that damage crashes the library.

        Raises:
            UnreadableError: it did.
        """
        paths = [
            array.path
            for name in names
            for source in self._planned[name].decoder.sources
            for episode in range(len(self._plan.episodes))
            if (array := self._array(source, episode)) is not None and array.dtype.kind == "O"
        ]
        if set(paths) <= self._sound:
            return

        def read_all() -> None:
            with open_file(self._file) as file:
                for path in paths:
                    for at in range(0, self._arrays[path].rows, _HEAP_ROWS):
                        with suppress(*H5_ERRORS):  # noted where it is read
                            file[path][at : at + _HEAP_ROWS]

        apart(read_all, self._file)
        self._sound.update(paths)

    def _array(self, source: str, episode: int) -> Array | None:
        """A dataset of an episode; None where it is not there, or of another shape or type than elsewhere."""
        array = self._arrays.get(path_in(self._plan.episodes[episode].group, source))
        if array is None:
            return None
        like = self._like.setdefault(source, array)
        if array.shape[1:] == like.shape[1:] and array.dtype == like.dtype:
            return array
        self.reader_notes.add(
            Problem.SCHEMA,
            f"rows of {array.path} are {array.dtype}{list(array.shape[1:])}, of {like.path} "
            f"{like.dtype}{list(like.shape[1:])}",
            Where(file=str(self._file), stream=array.path),
            array.rows,
        )
        return None

    def _rows(self, stream: PlannedStream, episode: int) -> int:
        """Rows of a stream in an episode: those that all its datasets and times have."""
        sources = [*stream.decoder.sources]
        for column in stream.times.columns.values() if stream.times else ():
            sources += [name for name, _ in column.parts]
        found = [self._array(source, episode) for source in sources]
        return min((array.rows if array else 0 for array in found), default=0)

    def _episode(
        self,
        file: h5py.File,
        stream: PlannedStream,
        episode: int,
        start_ns: int | None,
        end_ns: int | None,
        payload: bool,
    ) -> Iterator[Batch]:
        """The samples of one stream in one episode."""
        rows = self._rows(stream, episode)
        wanted = range(rows)
        if stream.times is None:
            inside = self._grid.within(episode, start_ns, end_ns)
            wanted = range(min(inside.start, rows), min(inside.stop, rows))
        chunk = self._chunk_rows(stream, episode)
        runs = deque(self._runs(stream, episode, wanted))
        while runs:
            run = runs.popleft()
            try:
                batch = self._batch(file, stream, episode, run, start_ns, end_ns, payload)
            except (*H5_ERRORS, pa.ArrowException) as error:
                if 0 < chunk < len(run):  # a damaged chunk costs its own rows
                    runs.extendleft(reversed(list(by_chunks(run, chunk))))
                    continue
                source = path_in(self._plan.episodes[episode].group, stream.decoder.sources[0])
                self.reader_notes.add(
                    Problem.CORRUPT,
                    f"rows {run.start} to {run.stop} of {source} cannot be read: {error}",
                    Where(file=str(self._file), stream=stream.name, row=run.start),
                    len(run),
                )
                continue
            if batch is not None and len(batch):
                yield batch

    def _runs(self, stream: PlannedStream, episode: int, rows: range) -> Iterator[range]:
        """Rows in runs of bounded bytes that end where chunks end, so that none is unpacked twice."""
        arrays = [array for source in stream.decoder.sources if (array := self._array(source, episode))]
        width = sum(max(1, math.prod(array.shape[1:]) * array.dtype.itemsize) for array in arrays)
        step = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, width)))
        chunk = self._chunk_rows(stream, episode)
        if 1 < chunk <= 4 * step:
            step = max(1, step // chunk) * chunk
        return by_chunks(rows, step)

    def _chunk_rows(self, stream: PlannedStream, episode: int) -> int:
        """The rows that are unpacked at once, of the dataset that has the most of them in a chunk."""
        found = (self._array(source, episode) for source in stream.decoder.sources)
        return max((array.chunk_rows for array in found if array), default=0)

    def _batch(
        self,
        file: h5py.File,
        stream: PlannedStream,
        episode: int,
        run: range,
        start_ns: int | None,
        end_ns: int | None,
        payload: bool,
    ) -> Batch | None:
        group = self._plan.episodes[episode].group

        def read(source: str) -> Any:
            if source == "#":
                return np.arange(run.start, run.stop)
            room = self._room if stream.decoder.kind in PAYLOAD_KINDS else None
            return read_rows(file, self._arrays[path_in(group, source)], run.start, run.stop, room)

        if stream.times is None:
            times = {"stamp_ns": self._grid.stamps(episode, run)}
            keep = None
        else:
            shift = self._shift[episode]
            times = {name: _nanoseconds(column, read) + shift for name, column in stream.times.columns.items()}
            keep = in_window(times[stream.times.timeline], start_ns, end_ns)
            if keep is not None and not keep.any():
                return None
        columns, bulk = stream.decoder.columns(read, len(run), payload=payload)
        ordered = {name: pa.array(times[name]) for name in TIME_COLUMNS if name in times}
        made = pa.RecordBatch.from_pydict(ordered | self.named(stream.name, columns))
        if keep is not None and not keep.all():
            made = made.filter(pa.array(keep))
            bulk = replace(bulk, offset=bulk.offset[keep], length=bulk.length[keep]) if bulk else None
        return Batch(stream.name, made, bulk)

    def _stream(self, stream: PlannedStream, edges: Mapping[tuple[str, int], tuple[int, int]]) -> Stream:
        episodes = range(len(self._plan.episodes))
        samples = np.array([self._rows(stream, episode) for episode in episodes], np.int64)
        arrays = [a for s in stream.decoder.sources for e in episodes if (a := self._array(s, e)) is not None]
        shape = "x".join(map(str, arrays[0].shape[1:])) if arrays else ""
        made = self._grid.stream(
            stream.name,
            stream.decoder.kind,
            encoding="hdf5",
            role=stream.role,
            type_name=f"{arrays[0].dtype}[{shape}]" if arrays and not stream.segments else "",
            attributes=stream.attributes,
            bytes=sum(array.bytes for array in arrays) if not stream.segments else None,
            samples=samples,
        )
        made = replace(made, units=stream.units, segments=stream.segments)
        if stream.times is None:
            return made
        times, moved = stream.times, bool(self._shift.any())
        known = [edge for (name, _), edge in edges.items() if name == stream.name]
        told = _told(times.columns) + ("; moved so that episodes follow one another" if moved else "")
        return replace(
            made,
            start_ns=min((first for first, _ in known), default=None),
            end_ns=max((last for _, last in known), default=None),
            timeline=times.timeline,
            stamp_source=times.source,
            stamp_clock=CLOCK if moved else times.stamp_clock,
            log_clock=CLOCK if moved else times.log_clock,
            rate_hz=stream.rate_hz,
            attributes={**stream.attributes, "times": told},
        )

    def _read_edges(self, file: h5py.File) -> dict[tuple[str, int], tuple[int, int]]:
        """First and last time of each timed stream in each episode: times are small beside what they are of."""
        edges: dict[tuple[str, int], tuple[int, int]] = {}
        for stream in self._plan.streams:
            for number, episode in enumerate(self._plan.episodes if stream.times else ()):
                rows = self._rows(stream, number)
                if not rows or stream.times is None:
                    continue

                def read(source: str, group: str = episode.group, rows: int = rows) -> Any:
                    return file[path_in(group, source)][:rows]

                try:
                    times = _nanoseconds(stream.times.columns[stream.times.timeline], read)
                except H5_ERRORS:
                    continue  # noted where they are read
                edges[stream.name, number] = int(times.min()), int(times.max())
        return edges

    def _spans(self, edges: Mapping[tuple[str, int], tuple[int, int]]) -> tuple[EpisodeSpan, ...]:
        """The episodes: on the grid, or of true times from the first sample to the last."""
        spans = []
        for number, episode in enumerate(self._plan.episodes):
            span = self._grid.span(
                number,
                instruction=episode.instruction,
                outcome=episode.outcome,
                attributes=episode.attributes,
            )
            known = [edge for (_, where), edge in edges.items() if where == number]
            if known:
                start, end = min(first for first, _ in known), max(last for _, last in known)
                span = replace(span, start_ns=start, end_ns=end + 1)
            spans.append(span)
        return tuple(spans)


def _nanoseconds(column: TimeColumn, read: Any) -> NDArray[np.int64]:
    """Times (N,) int64 ns; what is no time is 0."""
    total: NDArray[np.int64] | None = None
    for source, unit in column.parts:
        values = np.asarray(read(source)).reshape(-1)
        if values.dtype.kind in "iu":
            part = to_ns(pa.array(values.astype(np.int64)), unit)[0]
        else:
            part, finite = floats_to_ns(values.astype(np.float64), unit)
            part = np.where(finite, part, 0)
        total = part if total is None else total + part
    assert total is not None
    return total


def _told(columns: Any) -> str:
    return "; ".join(
        f"{name} {' + '.join(f'{source} [{unit}]' for source, unit in column.parts)}"
        for name, column in columns.items()
    )
