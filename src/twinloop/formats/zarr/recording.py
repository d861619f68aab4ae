"""A Zarr store of steps as one recording."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.core.stream import Batch, Stream
from twinloop.formats.steps.grid import by_chunks
from twinloop.formats.steps.names import role_of
from twinloop.formats.steps.recording import StepRecording
from twinloop.formats.zarr.store import open_group

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.recording import EpisodeSpan
    from twinloop.formats.notes import Notes
    from twinloop.formats.steps.arrays import Array
    from twinloop.formats.steps.decode import Decoder
    from twinloop.formats.steps.grid import StepGrid
    from twinloop.formats.zarr.written import Written

#: Bytes and rows read at a time.
_BATCH_BYTES, _BATCH_ROWS = 16 << 20, 16_384


@dataclass(frozen=True, slots=True)
class ArrayStream:
    """A stream: the array it is, and how its rows are read."""

    array: Array
    decoder: Decoder


class ZarrRecording(StepRecording):
    """See the package's page. `ends` (E,) rows."""

    def __init__(
        self,
        path: Path,
        *,
        arrays: dict[str, ArrayStream],
        ends: NDArray[np.int64],
        grid: StepGrid,
        written: Written,
        files: tuple[Path, ...],
        metadata: dict[str, str],
        notes: Notes,
    ) -> None:
        self._starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
        self._ends = ends
        self._grid = grid
        self._arrays = arrays
        self._note = notes
        super().__init__(
            path,
            "zarr",
            files=files,
            streams={name: self._stream(name, one) for name, one in arrays.items()},
            episodes=tuple(self._span(episode, written) for episode in range(len(ends))),
            metadata=metadata,
            notes=notes.all,
        )

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
            with open_group(self.path) as group:
                for name in names:
                    for rows in self._wanted(start_ns, end_ns):
                        yield from self._rows(group, name, rows, payload)
        except UnreadableError as error:  # it was there when the recording was opened
            self._note.add(Problem.CORRUPT, error.what, Where(file=str(self.path)), None)

    def _wanted(self, start_ns: int | None, end_ns: int | None) -> Iterator[range]:
        """The rows that may lie in a span of time: all of them, or episode by episode."""
        if start_ns is None and end_ns is None:
            yield range(int(self._ends[-1]) if len(self._ends) else 0)
            return
        for episode, start in enumerate(self._starts.tolist()):
            steps = self._grid.within(episode, start_ns, end_ns)
            yield range(start + steps.start, start + steps.stop)

    def _rows(self, group: Any, name: str, rows: range, payload: bool) -> Iterator[Batch]:
        array = self._arrays[name].array
        width = max(1, int(np.prod(array.shape[1:], dtype=np.int64)) * array.dtype.itemsize)
        step = max(1, min(_BATCH_ROWS, _BATCH_BYTES // width))
        if 1 < array.chunk_rows <= 4 * step:
            step = max(1, step // array.chunk_rows) * array.chunk_rows
        runs = deque(by_chunks(range(rows.start, min(rows.stop, array.rows)), step))
        while runs:
            run = runs.popleft()
            try:
                yield self._batch(group, name, run, payload)
            except Exception as error:  # codecs raise whatever they meet
                if 0 < array.chunk_rows < len(run):  # a damaged chunk costs its own rows
                    runs.extendleft(reversed(list(by_chunks(run, array.chunk_rows))))
                    continue
                self._note.add(
                    Problem.CORRUPT,
                    f"rows {run.start} to {run.stop} of {array.path} cannot be read: {error}",
                    Where(file=str(self.path), stream=name, row=run.start),
                    len(run),
                )

    def _batch(self, group: Any, name: str, run: range, payload: bool) -> Batch:
        decoder = self._arrays[name].decoder
        columns, bulk = decoder.columns(
            lambda source: np.asarray(group[source][run.start : run.stop]), len(run), payload=payload
        )
        made = pa.RecordBatch.from_pydict({"stamp_ns": pa.array(self._times(run)), **self.named(name, columns)})
        return Batch(name, made, bulk)

    def _times(self, run: range) -> NDArray[np.int64]:
        """Times (N,) int64 ns of some rows."""
        first = int(np.searchsorted(self._ends, run.start, "right"))
        parts, at = [], run.start
        while at < run.stop:
            end = min(int(self._ends[first]), run.stop)
            start = int(self._starts[first])
            parts.append(self._grid.stamps(first, range(at - start, end - start)))
            at, first = end, first + 1
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _stream(self, name: str, one: ArrayStream) -> Stream:
        here = np.clip(one.array.rows - self._starts, 0, self._ends - self._starts)
        return self._grid.stream(
            name,
            one.decoder.kind,
            encoding="zarr",
            role=role_of(name),
            type_name=f"{one.array.dtype}[{'x'.join(map(str, one.array.shape[1:]))}]",
            attributes={"key": one.array.path},
            bytes=one.array.bytes,
            samples=here,
        )

    def _span(self, episode: int, written: Written) -> EpisodeSpan:
        instruction, outcome = written.of(episode)
        return self._grid.span(episode, instruction=instruction, outcome=outcome)
