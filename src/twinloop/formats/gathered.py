"""Recordings that are gathered from sources: one a stream, each with its own way to its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from twinloop.core.recording import Recording
from twinloop.core.stream import Batch, Payload
from twinloop.core.timeline import cut_to_window

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from twinloop.core.recording import Attachment, EpisodeSpan
    from twinloop.core.stream import Stream
    from twinloop.formats.notes import Notes


_BATCH_ROWS = 16_384


class Source(Protocol):
    """One stream and the way to its rows."""

    stream: Stream

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:
        """All rows in bounded batches, with bulk bytes where the kind has them and `payload` asks for them."""


class TableInMemory:
    """A source whose rows were read at opening because they are few: an index, a page of boxes."""

    def __init__(self, stream: Stream, columns: Mapping[str, pa.Array]) -> None:
        self.stream = stream
        self._rows = pa.RecordBatch.from_pydict(dict(columns))

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:  # noqa: ARG002
        for first in range(0, self._rows.num_rows, _BATCH_ROWS):
            yield self._rows.slice(first, _BATCH_ROWS), None

    def renamed(self, name: str) -> TableInMemory:
        """The same rows as a stream of another name."""
        self.stream = replace(self.stream, name=name)
        return self


class GatheredRecording(Recording):
    """A recording whose streams are scanned source by source."""

    def __init__(
        self,
        path: Path,
        format: str,
        *,
        files: Iterable[Path],
        sources: Iterable[Source],
        notes: Notes,
        episodes: tuple[EpisodeSpan, ...] = (),
        metadata: Mapping[str, str] | None = None,
        attachments: tuple[Attachment, ...] = (),
        calibration: Mapping[str, object] | None = None,
    ) -> None:
        self._sources = {source.stream.name: source for source in sources}
        super().__init__(
            path,
            format,
            files=tuple(dict.fromkeys(files)),
            streams={name: source.stream for name, source in self._sources.items()},
            episodes=episodes,
            metadata=metadata,
            attachments=attachments,
            calibration=calibration,
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
        for name in self.check_names(streams):
            source = self._sources[name]
            for rows, bulk in source.batches(payload and source.stream.has_payload):
                batch = cut_to_window(source.stream, Batch(name, rows, bulk), start_ns, end_ns)
                if batch is not None:
                    yield batch
