"""Split bags: several recordings of one recorder, read one after the other as one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.core.recording import Attachment, ReadNote, Recording

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from twinloop.core.stream import Batch, Stream

_NUMBERED = re.compile(r"(?P<base>.+)_(?P<number>\d+)(\.[A-Za-z0-9]+)*")


class JoinedRecording(Recording):
    """Recordings that follow one another, as one.

    A stream of the same name in several parts is one stream; it takes its type from the first part that
    has samples of it. What a part notes while it is scanned appears in the notes of the whole.
    """

    def __init__(
        self,
        path: Path,
        format: str,
        parts: Sequence[Recording],
        *,
        extra_files: tuple[Path, ...] = (),
        metadata: dict[str, str] | None = None,
        notes: list[ReadNote] | None = None,
    ) -> None:
        names = dict.fromkeys(name for part in parts for name in part.streams)
        merged: dict[str, str] = {}
        for part in parts:
            merged.update(part.metadata)
        super().__init__(
            path,
            format,
            files=(*extra_files, *(file for part in parts for file in part.files)),
            streams={name: _join([p.streams[name] for p in parts if name in p.streams]) for name in names},
            metadata={**merged, **(metadata or {})},
            attachments=tuple(_attachments(parts)),
            notes=[*(notes or ()), *(note for part in parts for note in part.notes)],
        )
        self.parts = tuple(parts)
        self._taken = [len(part.notes) for part in parts]

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """The parts' samples, part by part."""
        names = self.check_names(streams)
        return self._scan(names, start_ns, end_ns, payload)

    def _scan(
        self, names: list[str], start_ns: int | None, end_ns: int | None, payload: bool
    ) -> Iterator[Batch]:
        for number, part in enumerate(self.parts):
            there = [name for name in names if name in part.streams]
            if not there:
                continue
            try:
                yield from part.scan(there, start_ns=start_ns, end_ns=end_ns, payload=payload)
            finally:
                self.notes.extend(part.notes[self._taken[number] :])
                self._taken[number] = len(part.notes)

    def close(self) -> None:
        """Close the parts."""
        for part in self.parts:
            part.close()


def _join(streams: Sequence[Stream]) -> Stream:
    filled = [stream for stream in streams if stream.count != 0] or streams[:1]
    first = filled[0]
    starts = [stream.start_ns for stream in filled]
    ends = [stream.end_ns for stream in filled]
    same_timeline = all(stream.timeline == first.timeline for stream in filled)
    return replace(
        first,
        count=_sum(stream.count for stream in streams),
        bytes=_sum(stream.bytes for stream in streams),
        start_ns=min(s for s in starts if s is not None) if same_timeline and None not in starts else None,
        end_ns=max(e for e in ends if e is not None) if same_timeline and None not in ends else None,
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


def _attachments(parts: Sequence[Recording]) -> Iterator[Attachment]:
    for part in parts:
        for attachment in part.attachments:
            yield replace(attachment, file=attachment.file or str(part.path))


def split_order(paths: Iterable[Path]) -> list[Path] | None:
    """The files of one split bag, ``name_0``, ``name_1``..., by number; None if they are not of one bag.

    A single file is a split bag of one, whatever its name. Recorders that keep only the newest files leave
    numbers that start above zero, but never a hole.
    """
    files = sorted(paths)
    if len(files) <= 1:
        return files or None
    matches = [_NUMBERED.fullmatch(file.name) for file in files]
    if None in matches or len({match["base"] for match in matches if match}) != 1:
        return None
    numbers = [int(match["number"]) for match in matches if match]
    if sorted(numbers) != list(range(min(numbers), min(numbers) + len(files))):
        return None
    return [file for _, file in sorted(zip(numbers, files, strict=True))]
