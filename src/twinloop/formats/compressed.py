"""Recordings inside a compressed file (zstd, gzip, LZ4): unpacked to a temporary file, read, cleaned up."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Attachment, Problem, ReadNote, Recording

if TYPE_CHECKING:
    from collections.abc import Collection

    from twinloop.core.stream import Batch
    from twinloop.formats.reader import Reader, ReadOptions

_SUFFIXES = (".zst", ".zstd", ".gz", ".lz4")
#: Compressed bytes taken at a time. Zstandard can grow each 4 of them to 128 KiB: this bounds memory.
_STEP = 1 << 12
_OUT = 1 << 22
#: Left free on the disk, and how often that is looked at.
_DISK_MARGIN = 1 << 29
_LOOK_EVERY = 1 << 26


class _CutOffError(Exception):
    """The compressed stream ends before its end."""


class _BrokenError(Exception):
    """The compressed stream is not what its format says."""


def is_compressed(head: bytes) -> bool:
    """Whether a file that starts with `head` is a compressed stream that can be unpacked."""
    return _unpacker(head) is not None


def unpacked_head(file: Path, size: int) -> bytes:
    """The first `size` bytes of what a compressed file holds, fewer where it is short or broken."""
    done = bytearray()
    try:
        for piece in _pieces(file):
            done += piece
            if len(done) >= size:
                break
    except (_CutOffError, _BrokenError, OSError):
        pass
    return bytes(done[:size])


class CompressedReader:
    """The reader of what a compressed file holds, with the unpacking before it."""

    def __init__(self, inner: Reader) -> None:
        self.inner = inner
        self.name = inner.name
        self.title = f"{inner.title}, compressed"
        self.keeps = inner.keeps
        self.loses = inner.loses
        self.extra = inner.extra

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether `path` is a compressed file of the inner format."""
        return is_compressed(head) and self.inner.sniff(path, unpacked_head(path, len(head)))

    def open(self, path: Path, options: ReadOptions) -> Recording:
        """Unpack and open; raises what `open_compressed` and the inner reader raise."""
        return open_compressed(path, lambda plain: self.inner.open(plain, options))


def open_compressed(path: Path, open_plain: Callable[[Path], Recording]) -> Recording:
    """Unpack `path` to a temporary file and open that; it goes when the recording is closed.

    A stream that is cut off or broken gives what could be unpacked, with a note.

    Raises:
        UnreadableError: nothing can be unpacked, or it would fill the disk.
    """
    temporary = tempfile.TemporaryDirectory(prefix="twinloop-")
    plain = Path(temporary.name) / plain_name(path)
    try:
        note = _unpack(path, plain)
        inner = open_plain(plain)
    except BaseException:
        temporary.cleanup()
        raise
    return _UnpackedRecording(path, inner, temporary, note)


def plain_name(path: Path) -> str:
    """The name of what a compressed file holds: without the compression's suffix."""
    return path.stem if path.suffix.lower() in _SUFFIXES and path.stem else f"{path.name}.unpacked"


class _UnpackedRecording(Recording):
    """A recording in a temporary file, under the name of the compressed file it came from."""

    def __init__(
        self,
        path: Path,
        inner: Recording,
        temporary: tempfile.TemporaryDirectory[str],
        note: ReadNote | None,
    ) -> None:
        super().__init__(
            path,
            inner.format,
            files=(path,),
            streams=inner.streams,
            episodes=inner.episodes,
            metadata=inner.metadata,
            attachments=inner.attachments,
            calibration=inner.calibration,
            notes=[note] if note else [],
        )
        self._inner = inner
        self._temporary = temporary
        self._noted = 0
        self._take_notes()

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        """The samples of what was unpacked."""
        names = self.check_names(streams)
        return self._scan(names, start_ns, end_ns, payload)

    def _scan(
        self, names: list[str], start_ns: int | None, end_ns: int | None, payload: bool
    ) -> Iterator[Batch]:
        try:
            yield from self._inner.scan(names, start_ns=start_ns, end_ns=end_ns, payload=payload)
        finally:
            self._take_notes()

    def read_attachment(self, attachment: Attachment) -> bytes:
        """The bytes of an attachment, exactly as carried."""
        return self._inner.read_attachment(attachment)

    def close(self) -> None:
        """Let go of the temporary file and remove it."""
        self._inner.close()
        self._temporary.cleanup()

    def _take_notes(self) -> None:
        """Notes name the file that the user knows; their bytes count in what was unpacked."""
        for note in self._inner.notes[self._noted :]:
            inside = (note.where.file or "").startswith(self._temporary.name)
            where = replace(note.where, file=str(self.path)) if inside else note.where
            self.notes.append(replace(note, where=where))
        self._noted = len(self._inner.notes)


def _unpack(path: Path, plain: Path) -> ReadNote | None:
    """Write what `path` holds to `plain`; what is said where it ends early or is broken."""
    done = 0
    look_at = 0
    problem, why = None, ""
    try:
        with plain.open("wb") as out:
            for piece in _pieces(path):
                if done >= look_at:
                    _check_room(path, plain.parent)
                    look_at = done + _LOOK_EVERY
                out.write(piece)
                done += len(piece)
    except _CutOffError:
        problem, why = Problem.TRUNCATED, "the compressed file ends early"
    except _BrokenError as error:
        problem, why = Problem.CORRUPT, f"the compressed file is broken ({error})"
    except OSError as error:
        raise UnreadableError(
            f"it cannot be unpacked: {error.strerror}", where=str(path), fix=_ROOM_FIX
        ) from error
    if problem is None:
        return None
    if not done:
        raise UnreadableError(f"{why}; nothing of it can be unpacked", where=str(path))
    place = Where(file=str(path), byte=path.stat().st_size if problem is Problem.TRUNCATED else None)
    return ReadNote(problem, f"{why}; {done} bytes could be unpacked", place, None)


_ROOM_FIX = "make room, or name a folder on a larger disk in the environment variable TMPDIR"


def _check_room(path: Path, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _DISK_MARGIN + _LOOK_EVERY:
        raise UnreadableError(
            f"what it holds does not fit on the disk of {folder.parent} ({free >> 20} MB are free)",
            where=str(path),
            fix=_ROOM_FIX,
        )


def _pieces(path: Path) -> Iterator[bytes]:
    """What a compressed file holds, some megabytes at a time.

    Raises:
        _CutOffError, _BrokenError: after everything before that place was given.
    """
    with path.open("rb") as file:
        unpacker = _unpacker(file.read(8))
        file.seek(0)
        if unpacker is not None:
            yield from unpacker(file)


def _unpacker(head: bytes) -> Callable[[BinaryIO], Iterator[bytes]] | None:
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return _unzstd
    if head.startswith(b"\x1f\x8b\x08"):
        return _gunzip
    if head.startswith(b"\x04\x22\x4d\x18"):
        return _unlz4
    return None


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    import zstandard

    frame = None
    while data := file.read(_STEP):
        while data:
            frame = frame or zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            try:
                piece = frame.decompress(data)
            except (zstandard.ZstdError, MemoryError) as error:
                raise _BrokenError(str(error)) from error
            if piece:
                yield piece
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise _CutOffError


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    import zlib

    member = None
    while data := file.read(_OUT):
        while data:
            member = member or zlib.decompressobj(wbits=31)
            try:
                piece = member.decompress(data, _OUT)
            except zlib.error as error:
                raise _BrokenError(str(error)) from error
            if piece:
                yield piece
            data = member.unused_data.lstrip(b"\x00") if member.eof else member.unconsumed_tail
            member = None if member.eof else member
    if member is not None:
        raise _CutOffError


def _unlz4(file: BinaryIO) -> Iterator[bytes]:
    import lz4.frame

    frame = None
    while data := file.read(_OUT):
        more = True
        while more:
            frame = frame or lz4.frame.LZ4FrameDecompressor()
            try:
                piece = frame.decompress(data, max_length=_OUT)
            except (RuntimeError, ValueError, EOFError, MemoryError) as error:
                raise _BrokenError(str(error)) from error
            if piece:
                yield piece
            data = (frame.unused_data or b"") if frame.eof else b""
            more = bool(data) if frame.eof else not frame.needs_input
            frame = None if frame.eof else frame
    if frame is not None:
        raise _CutOffError
