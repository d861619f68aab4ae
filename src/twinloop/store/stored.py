"""A session of the store, read as a recording: checks, reports and exports run on it like on any file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.errors import StoreError
from twinloop.core.kinds import TIME_COLUMNS
from twinloop.core.recording import Attachment, EpisodeSpan, Recording
from twinloop.core.session import Session
from twinloop.core.stream import Batch, Stream
from twinloop.core.timeline import timeline_ns
from twinloop.store.packs import PackReader
from twinloop.store.reports import session_report
from twinloop.store.stored_parts import (
    Part,
    earlier,
    extent_of,
    is_cut,
    later,
    merge_mappings,
    merge_metadata,
    merge_streams,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray
    from pyarrow.parquet import ParquetFile

    from twinloop.core.clock import ClockModel
    from twinloop.core.finding import CheckReport
    from twinloop.core.session import Episode
    from twinloop.store.manifest import Manifest, SegmentFacts
    from twinloop.store.objects import Objects
    from twinloop.store.places import Places

#: Columns of a table that say where a sample's bulk bytes lie in its pack; never shown.
OFFSET, LENGTH = "_offset", "_length"


class StoredSession(Recording):
    """A session as the store holds it.

    `stored_parts` says how its recordings' streams become one session's. Images lie in video segments; only
    encodings that no lossless codec takes come as payload.

    Attributes:
        manifest: the revision that is read. session: its facts, episodes (edits applied), clock models.
        mapping: the features of all its recordings.
    """

    def __init__(
        self, manifest: Manifest, episodes: tuple[Episode, ...], objects: Objects, places: Places
    ) -> None:
        self.manifest = manifest
        self._objects = objects
        self._places = places
        self._parts = merge_streams(manifest)
        self.session = Session(
            id=manifest.session,
            facts=manifest.facts,
            recordings=tuple(recording.hash for recording in manifest.recordings),
            episodes=episodes,
            clock_models=manifest.clock_models,
        )
        self.mapping = merge_mappings(self._parts, manifest)
        super().__init__(
            objects.place(f"sessions/{manifest.session}"),
            "twinloop",
            files=tuple(places.where(artefact.key) for artefact in manifest.artefacts()),
            streams={name: self._stream(name) for name in self._parts},
            episodes=tuple(_span(episode) for episode in episodes),
            metadata=merge_metadata(manifest),
            attachments=tuple(
                replace(attachment, file=str(places.where(attachment.file)))
                for recording in manifest.recordings
                for attachment in recording.attachments
            ),
            calibration={
                name: value
                for recording in manifest.recordings
                for name, value in recording.calibration.items()
            },
            notes=[note for recording in manifest.recordings for note in recording.notes],
        )
        self.place = f"{objects.url}/sessions/{manifest.session}"

    @cached_property
    def report(self) -> CheckReport:
        """What the checks said when its recordings were taken in."""
        return session_report(self._objects, self.manifest, self.place)

    @property
    def size_bytes(self) -> int:
        """Bytes of all artefacts."""
        return sum(artefact.size for artefact in self.manifest.artefacts())

    def read_attachment(self, attachment: Attachment) -> bytes:
        """The bytes of an attachment, exactly as carried."""
        self._places.fetch(attachment.file)
        return super().read_attachment(attachment)

    def close(self) -> None:
        """Let go of what was fetched."""
        self._places.close()

    def segment_facts(self, stream: str) -> tuple[SegmentFacts, ...]:
        """What is known of each of a stream's video segments, in the order of `Stream.segments`.

        Empty where the segments are the source's own files, which were not looked into.
        """
        return tuple(fact for part in self._parts[stream] for fact in part.entry.segments)

    def image_stats(self, stream: str) -> pa.Table:
        """Histograms of sampled images: see `twinloop.store.image_stats`. Empty if there are none."""
        tables = [
            self._read_table(part.entry.image_stats.key)
            for part in self._parts[stream]
            if part.entry.image_stats
        ]
        return pa.concat_tables(tables) if tables else pa.table({})

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """All samples of the named streams, stream after stream: see `Recording.scan`.

        Raises:
            StoreError: an artefact is missing or damaged.
        """
        for name in self.check_names(streams):
            stream = self.streams[name]
            for part in self._parts[name]:
                window = _Window(
                    stream,
                    self.manifest.clock_models,
                    later(start_ns, part.recording.start_ns),
                    earlier(end_ns, part.recording.end_ns),
                )
                yield from self._scan_part(stream, part, window, payload)

    def scan_times(self, streams: Collection[str] | None = None) -> Iterator[Batch]:
        """The time columns of the named streams; nothing else is read."""
        for name in self.check_names(streams):
            stream = self.streams[name]
            for part in self._parts[name]:
                window = _Window(
                    stream, self.manifest.clock_models, part.recording.start_ns, part.recording.end_ns
                )
                for artefact in part.entry.tables:
                    for columns in self._row_groups(artefact.key, window, TIME_COLUMNS):
                        yield Batch(name, columns)

    def _scan_part(self, stream: Stream, part: Part, window: _Window, payload: bool) -> Iterator[Batch]:
        pack = PackReader(self._places.find(part.entry.pack.key)) if payload and part.entry.pack else None
        try:
            for artefact in part.entry.tables:
                for columns in self._row_groups(artefact.key, window):
                    yield from _batches(stream, columns, part.segments_before, pack)
        finally:
            if pack:
                pack.close()

    def _row_groups(
        self, key: str, window: _Window, columns: Collection[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a table in the window; `columns`: of those, the ones that it has."""
        with self._open_table(key) as file:
            names = None if columns is None else [n for n in columns if n in file.schema_arrow.names]
            for number in range(file.num_row_groups):
                if window.misses(file, number):
                    continue
                try:
                    table = file.read_row_group(number, columns=names, use_threads=False)
                except (pa.ArrowException, OSError) as error:
                    raise _damaged(key, error) from error
                for batch in table.combine_chunks().to_batches():
                    yield from window.cut(batch)

    def _read_table(self, key: str) -> pa.Table:
        with self._open_table(key) as file:
            return file.read(use_threads=False)

    def _open_table(self, key: str) -> ParquetFile:
        import pyarrow.parquet as pq

        path = self._places.find(key)
        try:
            return pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(key, error) from error

    def _stream(self, name: str) -> Stream:
        parts = self._parts[name]
        first = parts[0].entry.stream
        segments = [
            replace(segment, file=str(self._places.where(segment.file)))
            for part in parts
            for segment in part.entry.stream.segments
        ]
        counts = [None if is_cut(part) else part.entry.stream.count for part in parts]
        extents = [e for part in parts if (e := extent_of(part.recording, part.entry.stream))]
        return replace(
            first,
            name=name,
            count=None if None in counts else sum(count or 0 for count in counts),
            start_ns=min((start for start, _ in extents), default=None),
            end_ns=max((end for _, end in extents), default=None),
            segments=self._places.segments(segments),
        )


@dataclass(frozen=True, slots=True)
class _Window:
    """The samples of a stream in [start_ns, end_ns) of its timeline."""

    stream: Stream
    models: tuple[ClockModel, ...]
    start_ns: int | None
    end_ns: int | None

    @property
    def is_open(self) -> bool:
        return self.start_ns is None and self.end_ns is None

    def misses(self, file: ParquetFile, number: int) -> bool:
        """Whether a row group has nothing in the window; its time columns alone are read."""
        if self.is_open:
            return False
        names = [name for name in TIME_COLUMNS if name in file.schema_arrow.names]
        return not self.mask(file.read_row_group(number, columns=names, use_threads=False)).any()

    def cut(self, columns: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows inside; none is empty."""
        if self.is_open:
            yield columns
            return
        mask = self.mask(columns)
        if mask.all():
            yield columns
        elif mask.any():
            yield columns.filter(pa.array(mask))

    def mask(self, columns: pa.RecordBatch | pa.Table) -> NDArray[np.bool_]:
        times = timeline_ns(self.stream, columns, self.models)
        mask = np.ones(len(times), bool)
        if self.start_ns is not None:
            mask &= times >= self.start_ns
        if self.end_ns is not None:
            mask &= times < self.end_ns
        return mask


def _batches(
    stream: Stream, columns: pa.RecordBatch, segments_before: int, pack: PackReader | None
) -> Iterator[Batch]:
    shown = columns
    if OFFSET in columns.schema.names:
        shown = columns.drop_columns([OFFSET, LENGTH])
    if segments_before and "segment" in shown.schema.names:
        place = shown.schema.get_field_index("segment")
        moved = pc.add(shown.column("segment"), pa.scalar(segments_before, pa.int32()))
        shown = shown.set_column(place, shown.schema.field(place), moved)
    if pack is None:
        yield Batch(stream.name, shown)
        return
    offsets = np.asarray(columns.column(OFFSET))
    lengths = np.asarray(columns.column(LENGTH))
    frames = pack.frame_of(offsets)
    cuts = [0, *(np.flatnonzero(np.diff(frames)) + 1).tolist(), len(frames)]
    for start, end in pairwise(cuts):
        rows = slice(start, end)
        yield Batch(stream.name, shown.slice(start, end - start), pack.payload(offsets[rows], lengths[rows]))


def _span(episode: Episode) -> EpisodeSpan:
    return EpisodeSpan(
        episode.index,
        episode.start_ns,
        episode.end_ns,
        episode.instruction,
        episode.outcome.value,
        episode.attributes,
    )


def _damaged(key: str, error: Exception) -> StoreError:
    return StoreError(
        f"an artefact cannot be read: {error}",
        where=key,
        fix="run `twinloop store fsck` to see what is damaged",
    )
