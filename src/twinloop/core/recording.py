"""A recording: what a file or folder of some format holds, as read. Lazy.

A reader makes one with `open`; opening costs no more than the index. All samples come through `scan`,
in one pass over the file, in batches of columns. Nothing else touches a recording's bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from twinloop.core.errors import UnknownNameError, Where
from twinloop.core.session import SessionFacts
from twinloop.core.stream import Batch, Stream

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from twinloop.core.mapping import Mapping as FeatureMapping


class Problem(StrEnum):
    """What can be wrong with the bytes of a recording. Readers note; rules turn notes into findings."""

    EMPTY = "empty"  # nothing to read at all
    TRUNCATED = "truncated"  # the file ends before its format says so
    CORRUPT = "corrupt"  # bytes that are not what the format says (bad CRC, broken record)
    INDEX = "index"  # the index or summary is missing, or disagrees with the data
    SCHEMA = "schema"  # a type's definition is missing or does not parse; its messages are kept raw
    UNDECODABLE = "undecodable"  # a message that does not fit its own definition
    COUNT = "count"  # declared and actual counts differ
    MISSING_FILE = "missing_file"  # a file that the recording names is not there
    PATH = "path"  # a declared path or codec is wrong; the file was found all the same
    BAD_VALUE = "bad_value"  # a value that cannot be what its column says


@dataclass(frozen=True, slots=True)
class ReadNote:
    """One thing a reader saw. `lost` tells how many samples could not be read there (None: unknown)."""

    problem: Problem
    message: str
    where: Where = Where()
    lost: int | None = 0


@dataclass(frozen=True, slots=True)
class EpisodeSpan:
    """One task attempt as the recording marks it: [start_ns, end_ns) on the streams' timelines."""

    index: int
    start_ns: int
    end_ns: int
    instruction: str | None = None
    outcome: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file carried inside a recording. `offset` is where its data lies in `file`."""

    name: str
    media_type: str
    size: int
    log_ns: int | None = None
    file: str = ""
    offset: int = 0


class Recording(ABC):
    """What a file or folder holds.

    Attributes:
        path: what was opened. place: where that lies, for people.
        files: every file that belongs to it (split bags and folders have many).
        format: the reader's name.
        streams: name -> Stream, in the source's order.
        episodes: as the source marks them; empty where it marks none.
        metadata: the source's own key-value records, nested names joined by ``/``.
        attachments: files carried inside.
        calibration: what the source holds as calibration, as JSON-ready values.
        facts: what the source states of the session: task, operator, consent... own_mapping: what its streams
            mean, where the source itself says so.
        notes: what the reader saw; opening fills what the index shows, scanning appends the rest.
    """

    def __init__(
        self,
        path: Path,
        format: str,
        *,
        files: tuple[Path, ...],
        streams: Mapping[str, Stream],
        episodes: tuple[EpisodeSpan, ...] = (),
        metadata: Mapping[str, str] | None = None,
        attachments: tuple[Attachment, ...] = (),
        calibration: Mapping[str, object] | None = None,
        facts: SessionFacts | None = None,
        mapping: FeatureMapping | None = None,
        notes: list[ReadNote] | None = None,
    ) -> None:
        self.path = path
        self.place = str(path)
        self.format = format
        self.files = files
        self.streams = dict(streams)
        self.episodes = episodes
        self.metadata = dict(metadata or {})
        self.attachments = attachments
        self.calibration = dict(calibration or {})
        self.facts = facts or SessionFacts()
        self.own_mapping = mapping
        self.notes: list[ReadNote] = notes if notes is not None else []

    @abstractmethod
    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """All samples of the named streams (None: of all), once, in one pass, in batches.

        Batches of one stream come in the file's order; batches of different streams are interleaved as the
        file holds them. Memory stays flat in the size of the recording. What cannot be read is noted in
        `notes` and passed over; a scan ends early only when nothing more can be found.

        Args:
            start_ns, end_ns: only samples in [start_ns, end_ns) of each stream's timeline.
            payload: False leaves bulk bytes out (`Batch.payload` is None) and, where the format allows,
                does not read them.

        Raises:
            UnknownNameError: a name in `streams` is not a stream here.
        """

    def scan_times(self, streams: Collection[str] | None = None) -> Iterator[Batch]:
        """As `scan` without bulk bytes, for callers that look at time columns only; others may be left out."""
        return self.scan(streams, payload=False)

    def read(self, stream: str, columns: list[str] | None = None) -> pa.Table:
        """All samples of one stream as one Arrow table, bulk bytes left out. For streams that fit in memory."""
        batches = [
            batch.columns.select(columns) if columns else batch.columns
            for batch in self.scan([stream], payload=False)
        ]
        if not batches:
            return pa.table({})
        return pa.concat_tables([pa.Table.from_batches([b]) for b in batches], promote_options="permissive")

    def read_attachment(self, attachment: Attachment) -> bytes:
        """The bytes of an attachment, exactly as carried."""
        with Path(attachment.file or self.path).open("rb") as file:
            file.seek(attachment.offset)
            return file.read(attachment.size)

    def close(self) -> None:
        """Let go of open files. A recording is its own context manager."""

    def check_names(self, streams: Collection[str] | None) -> list[str]:
        """The names to scan; raises UnknownNameError for one that is not here."""
        if streams is None:
            return list(self.streams)
        for name in streams:
            if name not in self.streams:
                raise UnknownNameError("stream", name, self.streams)
        return list(streams)

    @property
    def size_bytes(self) -> int:
        """Bytes of all files that belong to it."""
        return sum(file.stat().st_size for file in self.files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
