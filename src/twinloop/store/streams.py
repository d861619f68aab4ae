"""The scan of a recording on its way into artefacts: one writer a stream, memory flat over all of them."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.kinds import TIME_COLUMNS, Kind
from twinloop.core.recording import Problem, ReadNote
from twinloop.core.timeline import timeline_ns
from twinloop.store.blobs import hash_file
from twinloop.store.display_order import ReorderedError
from twinloop.store.image_stats import ImageSampler
from twinloop.store.images import ImageSink
from twinloop.store.manifest import Artefact, StreamEntry
from twinloop.store.media import MediaError
from twinloop.store.objects import encode_name
from twinloop.store.packs import PackWriter
from twinloop.store.stored import LENGTH, OFFSET
from twinloop.store.tables import TableWriter

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.stream import Batch, Payload, Stream
    from twinloop.store.display_order import DisplayOrder

_BUFFERED_BYTES = 64 << 20
#: Three years. A clock that shows more counts from an epoch, and its zeros are times that were not set.
_YOUNG_CLOCK_NS = 100_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a recording's artefacts lie.

    Attributes:
        staging: a folder laid out like the store. session: its id. tag: the recording's folder name in
            each kind's folder.
    """

    staging: Path
    session: str
    tag: str

    def folder(self, kind: str) -> Path:
        """The staged folder of one kind (``streams``, ``media``, ``points``...), made if it is not there."""
        folder = self.staging / "sessions" / self.session / kind / self.tag
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def clear(self) -> None:
        """Remove all that was staged, to start over."""
        shutil.rmtree(self.staging / "sessions", ignore_errors=True)

    def artefact(self, path: Path) -> Artefact:
        """A finished file as an artefact, its content hashed."""
        key = path.relative_to(self.staging).as_posix()
        return Artefact(key, hash_file(path), path.stat().st_size)


class RecordingWriter:
    """Takes the batches of a scan and makes the stream entries of the manifest.

    `packed`: streams whose images must not go through a video muxer. `lossy`: raw pictures as h264.
    `orders`: the display order of streams whose packets come in another.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        packed: Collection[str] = (),
        lossy: bool = False,
        orders: Mapping[str, DisplayOrder] | None = None,
    ) -> None:
        self._layout = layout
        self._packed = packed
        self._orders = orders or {}
        self._lossy = lossy
        self._writers: dict[str, _StreamWriter] = {}
        self._stems: Counter[str] = Counter()

    def append(self, stream: Stream, batch: Batch) -> None:
        """Add a batch.

        Raises:
            UnmuxableError: the images of this stream must be held in another way.
        """
        writer = self._writers.get(stream.name)
        if writer is None:
            writer = _StreamWriter(
                stream,
                self._layout,
                self._stem(stream.name),
                packed=stream.name in self._packed,
                lossy=self._lossy,
                order=self._orders.get(stream.name),
            )
            self._writers[stream.name] = writer
        try:
            writer.append(batch)
        except MediaError as error:
            raise UnmuxableError(stream.name, error) from error
        while sum(writer.table.buffered for writer in self._writers.values()) > _BUFFERED_BYTES:
            max(self._writers.values(), key=lambda writer: writer.table.buffered).table.flush()

    def _stem(self, name: str) -> str:
        """A file name for a stream; names that differ only in case get a number."""
        stem = encode_name(name)
        self._stems[stem.lower()] += 1
        number = self._stems[stem.lower()]
        return stem if number == 1 else f"{stem}~{number}"

    def close(self, streams: Collection[Stream]) -> tuple[StreamEntry, ...]:
        """Close all files; the entries of `streams`, in their order, those without samples among them.

        Raises:
            UnmuxableError: a closed video does not hold what was put in.
        """
        entries = []
        for stream in streams:
            writer = self._writers.get(stream.name)
            try:
                entries.append(writer.close(stream) if writer else _empty(stream))
            except MediaError as error:
                raise UnmuxableError(stream.name, error) from error
        return tuple(entries)

    def notes(self) -> list[ReadNote]:
        """What could not be made into video, as notes; nothing of it is lost from the raw files."""
        return [
            ReadNote(
                Problem.UNDECODABLE,
                f"{count} of the stream's images cannot be shown: {why}",
                Where(stream=name),
            )
            for name, writer in self._writers.items()
            if writer.images
            for why, count in writer.images.unused.items()
        ]


class UnmuxableError(MediaError):
    """The images of a stream cannot be held in video files: not at all, or not before their order is known."""

    def __init__(self, stream: str, error: MediaError) -> None:
        super().__init__(error.what, where=error.where)
        self.stream = stream
        self.reordered = isinstance(error, ReorderedError)


class _StreamWriter:
    def __init__(
        self,
        stream: Stream,
        layout: Layout,
        stem: str,
        *,
        packed: bool,
        lossy: bool,
        order: DisplayOrder | None,
    ) -> None:
        self._stream = stream
        self._layout = layout
        self._stem = stem
        self._packed = packed
        self._lossy = lossy
        self._order = order
        self.table = TableWriter(layout.folder("streams"), stem)
        self.images: ImageSink | None = None
        self._pack: PackWriter | None = None
        self._rows = 0
        self._span: tuple[int, int] | None = None
        self._has_zero = False

    def append(self, batch: Batch) -> None:
        times = timeline_ns(self._stream, batch.columns)
        self._rows += len(batch)
        if set(TIME_COLUMNS).intersection(batch.columns.schema.names):
            self._extend(times)
        columns = batch.columns
        if batch.payload is not None:
            columns = _with(columns, self._place(columns, batch.payload, times))
        self.table.append(columns)

    def _extend(self, times: NDArray[np.int64]) -> None:
        there = times != 0
        self._has_zero = self._has_zero or not there.all()
        times = times[there]
        if len(times):
            start, end = int(times.min()), int(times.max())
            self._span = (min(start, self._span[0]), max(end, self._span[1])) if self._span else (start, end)

    def _extent(self) -> tuple[int, int] | tuple[None, None]:
        """First and last time; zeros count only on clocks that began to count not long before."""
        if self._has_zero and (self._span is None or self._span[0] < _YOUNG_CLOCK_NS):
            start, end = self._span or (0, 0)
            return min(start, 0), max(end, 0)
        return self._span or (None, None)

    def _place(
        self, columns: pa.RecordBatch, payload: Payload, times: NDArray[np.int64]
    ) -> dict[str, pa.Array]:
        if self._pack is None and self.images is None:
            self._choose(columns, payload)
        if self.images is not None:
            return self.images.append(columns, payload, times)
        assert self._pack is not None
        return {OFFSET: pa.array(self._pack.append(payload)), LENGTH: pa.array(payload.length)}

    def _choose(self, columns: pa.RecordBatch, payload: Payload) -> None:
        pictures = self._stream.kind in (Kind.IMAGE, Kind.DEPTH) and not self._packed
        if pictures and ImageSink.takes(columns, payload) is not False:
            folder = self._layout.folder("media")
            self.images = ImageSink(folder, self._stem, lossy=self._lossy, order=self._order)
        else:
            folder = self._layout.folder("points" if self._stream.kind is Kind.POINTS else "media")
            self._pack = PackWriter(folder / f"{self._stem}.zst")

    def close(self, stream: Stream) -> StreamEntry:
        self.table.close()
        start_ns, end_ns = self._extent()
        entry = StreamEntry(
            replace(
                stream,
                count=self._rows,
                start_ns=start_ns,
                end_ns=end_ns,
            ),
            declared=stream.count,
            tables=tuple(self._layout.artefact(path) for path in self.table.paths),
        )
        if self._pack:
            self._pack.close()
            return replace(entry, pack=self._layout.artefact(self._pack.path))
        if self.images:
            self.images.close()
            media = tuple(self._layout.artefact(file.path) for file in self.images.files)
            entry = replace(
                entry,
                stream=replace(entry.stream, segments=self.images.segments([file.key for file in media])),
                media=media,
                segments=self.images.facts(),
                image_stats=write_stats(self._layout, self._stem, self.images.sampler),
            )
        return entry


def write_stats(layout: Layout, stem: str, sampler: ImageSampler) -> Artefact | None:
    """The sampler's histograms as an artefact; None if there are none."""
    import pyarrow.parquet as pq

    table = sampler.table()
    if table is None:
        return None
    path = layout.folder("image_stats") / f"{stem}.parquet"
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    return layout.artefact(path)


def _with(columns: pa.RecordBatch, extra: dict[str, pa.Array]) -> pa.RecordBatch:
    """The batch with columns added or replaced."""
    for name, values in extra.items():
        place = columns.schema.get_field_index(name)
        columns = columns.append_column(name, values) if place < 0 else columns.set_column(place, name, values)
    return columns


def _empty(stream: Stream) -> StreamEntry:
    return StreamEntry(replace(stream, count=0, start_ns=None, end_ns=None), declared=stream.count)
