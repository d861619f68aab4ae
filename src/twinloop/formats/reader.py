"""The protocol of readers, their registry, and the one way to open a path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from twinloop.core.errors import UnreadableError
from twinloop.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.core.mapping import Mapping
    from twinloop.core.recording import Recording

#: Bytes from the start of a file that a reader may judge by.
HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user says about a recording beyond its path.

    Attributes:
        types_dir: folder of message definitions (``pkg/msg/Name.msg``) for bags that carry none.
        mapping: for formats that cannot be read without one.
        table_mapping: a mapping file for a plain table (see the format `table`) that does not lie beside it.
        verify: compare the checksums that the format carries with the bytes, in every scan.
    """

    types_dir: Path | None = None
    mapping: Mapping | None = None
    table_mapping: Path | None = None
    verify: bool = True


class Reader(Protocol):
    """One format. Its module imports nothing heavy; `open` imports what it needs.

    Attributes:
        name: short name, also the entry point's. title: what users call it.
        keeps, loses: one sentence each, for `twinloop formats`.
        extra: the extra of twinloop that brings its dependencies; None for the base install.
    """

    name: str
    title: str
    keeps: str
    loses: str
    extra: str | None

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether `path` holds this format, judged by content, never by suffix.

        `head` is the first `HEAD_BYTES` of a file, empty for a folder. Must not raise and must cost
        milliseconds. Of the built-in readers that are not in `GENERAL`, at most one answers yes for a path.
        """

    def open(self, path: Path, options: ReadOptions) -> Recording:
        """Open `path`, reading no more than its index.

        Raises:
            UnreadableError: nothing of it can be read.
            MissingExtraError: a dependency of this format is not installed.
        """


FORMATS: Registry[Reader] = Registry("twinloop.formats", "format")

#: Readers of plain files that more special formats are made of: asked last, when no other claims a path.
GENERAL = ("table", "video-folder", "image-folder")


def read_head(path: Path) -> bytes:
    """The first bytes of a file, none for a folder.

    Raises:
        UnreadableError: the path is missing, a pipe or a device, or the system refuses to read it.
    """
    try:
        if path.is_dir():
            os.scandir(path).close()  # what may not be listed is refused here
            return b""
        if path.exists() and not path.is_file():
            raise UnreadableError("it is neither a file nor a folder", where=str(path))
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except FileNotFoundError:
        raise UnreadableError("there is no such file or folder", where=str(path)) from None
    except OSError as error:
        raise UnreadableError(
            f"the system refuses to read it: {error.strerror}", where=str(path), fix="check the permissions"
        ) from error


def find_reader(path: Path) -> Reader:
    """The reader whose format `path` holds.

    Raises:
        UnreadableError: no reader knows it; the message says what its content looks like.
    """
    from twinloop.formats.compressed import CompressedReader, is_compressed, unpacked_head

    head = read_head(path)
    packed = is_compressed(head)
    if packed:
        head = unpacked_head(path, HEAD_BYTES)
    for reader in _specific_first():
        if reader.sniff(path, head):
            return CompressedReader(reader) if packed else reader
    looks = "an empty file" if not head and path.is_file() else f"a file that starts with {head[:16]!r}"
    raise UnreadableError(
        f"no known format: it is {'a folder of nothing known' if path.is_dir() else looks}",
        where=str(path),
        expected=f"one of: {', '.join(FORMATS.names())}",
        fix="see `twinloop formats`; a table needs a mapping file beside it",
    )


def _specific_first() -> Iterator[Reader]:
    """All readers, those of `GENERAL` last, in its order."""
    yield from (reader for name, reader in FORMATS if name not in GENERAL)
    yield from (FORMATS.get(name) for name in GENERAL)


def open_recording(path: Path | str, options: ReadOptions | None = None) -> Recording:
    """Open a recording of any format. Costs no more than its index.

    Raises:
        UnreadableError: missing, refused, of no known format, or with nothing readable in it.
    """
    path = Path(path)
    options = options or ReadOptions()
    reader = FORMATS.get("table") if options.table_mapping else find_reader(path)
    return reader.open(path, options)
