"""The reader of ROS 2 bags: a folder with metadata.yaml, a folder of storage files, one SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, Where

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import ReadNote, Recording
    from twinloop.formats.reader import ReadOptions
    from twinloop.formats.rosbag2.metadata import BagMetadata

_SQLITE = b"SQLite format 3\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MCAP = b"\x89MCAP0\r\n"
_KEY = b"rosbag2_bagfile_information"
_METADATA = "metadata.yaml"


class RosBag2Reader:
    """ROS 2 bags, whole or split, in SQLite or MCAP files."""

    name = "rosbag2"
    title = "ROS 2 bag (folder or .db3)"
    keeps = (
        "every message with its stamp, the time of recording and, where stored, of sending; quality of service"
    )
    loses = (
        "nothing; messages of types that neither the bag, --types nor the standard set defines stay undecoded"
    )
    extra = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A SQLite file with a bag's tables, or a folder of a bag."""
        if head:
            return head.startswith(_SQLITE) and _has_bag_tables(path, head)
        try:
            return path.is_dir() and bool(_has_metadata(path) or _storage_files(path))
        except OSError:
            return False

    def open(self, path: Path, options: ReadOptions) -> Recording:
        """Open a bag; the files of a split bag are one recording.

        Raises:
            UnreadableError: nothing of it can be read.
        """
        if path.is_file():
            return self._open_file(path, options)
        return _open_folder(path, options)

    def _open_file(self, path: Path, options: ReadOptions) -> Recording:
        from twinloop.formats.rosbag2.recording import Db3Recording

        notes: list[ReadNote] = []
        metadata = _metadata(path.parent, notes)
        mine = metadata is not None and path.name in {_file_name(name) for name in metadata.files}
        sole = metadata is None or len(metadata.files) == 1
        return Db3Recording(path, metadata if mine else None, options.types_dir, sole=sole)


READER = RosBag2Reader()


def _has_bag_tables(path: Path, head: bytes) -> bool:
    if b"CREATE TABLE messages" in head and b"CREATE TABLE topics" in head:
        return True
    try:
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('messages', 'topics')"
            return bool(connection.execute(sql).fetchone()[0] == 2)
    except (sqlite3.Error, UnicodeDecodeError, OSError):
        return False


def _has_metadata(folder: Path) -> bool:
    file = folder / _METADATA
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return _KEY in opened.read(1 << 12)


def _storage_files(folder: Path) -> list[Path]:
    """The storage files of a bag without metadata: of one kind and one name, in their order."""
    from twinloop.formats.bag.joined import split_order

    found = [file for file in folder.iterdir() if file.is_file() and _is_storage(file)]
    kinds = {_is_mcap(file) for file in found}
    ordered = split_order(found)
    if ordered is None or len(kinds) != 1:
        return []
    # One MCAP file alone in a folder is a recording by itself, not a bag.
    return ordered if kinds == {False} or len(ordered) > 1 else []


def _is_storage(file: Path) -> bool:
    with file.open("rb") as opened:
        head = opened.read(16)
    if head.startswith(_ZSTD):
        return ".db3" in file.name or ".mcap" in file.name
    return head.startswith(_MCAP) or (head.startswith(_SQLITE) and _has_bag_tables(file, head))


def _is_mcap(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_MCAP)) == _MCAP or ".mcap" in file.name


def _metadata(folder: Path, notes: list[ReadNote]) -> BagMetadata | None:
    """What metadata.yaml says; None, with a note, where it cannot be read."""
    from twinloop.core.recording import Problem, ReadNote
    from twinloop.formats.rosbag2.metadata import parse_metadata

    file = folder / _METADATA
    try:
        text = file.read_bytes() if file.is_file() else None
        return None if text is None else parse_metadata(text, str(file))
    except OSError as error:
        notes.append(ReadNote(Problem.INDEX, f"it cannot be read: {error.strerror}", Where(file=str(file))))
    except UnreadableError as error:
        notes.append(ReadNote(Problem.INDEX, error.what, Where(file=str(file))))
    return None


def _open_folder(folder: Path, options: ReadOptions) -> Recording:
    from twinloop.core.recording import Problem, ReadNote
    from twinloop.formats.rosbag2.folder import Rosbag2Recording

    notes: list[ReadNote] = []
    metadata = _metadata(folder, notes)
    files = _files(folder, metadata, notes)
    parts: list[Recording] = []
    for file in files:
        try:
            parts.append(_open_part(file, metadata, options, sole=len(files) == 1))
        except UnreadableError as error:
            notes.append(
                ReadNote(Problem.CORRUPT, f"a file of the bag: {error.what}", Where(file=str(file)), None)
            )
    if not parts:
        reasons = "; ".join(dict.fromkeys(note.message for note in notes)) or "it has no storage file"
        raise UnreadableError(f"no file of the bag can be read: {reasons}", where=str(folder))
    return Rosbag2Recording(folder, parts, metadata, notes)


def _files(folder: Path, metadata: BagMetadata | None, notes: list[ReadNote]) -> list[Path]:
    """The bag's files: those that the metadata lists, and those beside them that it forgot."""
    from twinloop.core.recording import Problem, ReadNote
    from twinloop.formats.bag.joined import split_order

    listed: list[Path] = []
    for name in metadata.files if metadata else ():
        plain = folder / _file_name(name)
        there = next((f for f in (plain, plain.with_name(f"{plain.name}.zstd")) if f.is_file()), None)
        if there is not None:
            listed.append(there)
        else:
            message = f"metadata.yaml lists {name}, which is not there"
            notes.append(ReadNote(Problem.MISSING_FILE, message, Where(file=str(plain)), None))
    if metadata is None:
        return _storage_files(folder)
    others = [f for f in folder.iterdir() if f.is_file() and f not in listed and _is_storage(f)]
    ordered = split_order([*listed, *others]) if others else None
    if ordered is None:
        return listed
    message = "metadata.yaml does not list it; it was read"
    notes.extend(ReadNote(Problem.INDEX, message, Where(file=str(file))) for file in others)
    return ordered


def _file_name(listed: str) -> str:
    """The name of a listed file, whose path may be relative to the folder above, as old recorders wrote it."""
    return listed.replace("\\", "/").rsplit("/", 1)[-1]


def _open_part(file: Path, metadata: BagMetadata | None, options: ReadOptions, *, sole: bool) -> Recording:
    from twinloop.formats.compressed import is_compressed, open_compressed
    from twinloop.formats.reader import FORMATS, read_head
    from twinloop.formats.rosbag2.recording import Db3Recording

    def open_plain(path: Path) -> Recording:
        if read_head(path).startswith(_MCAP):
            return FORMATS.get("mcap").open(path, options)
        # A part without metadata would take its own for that of the whole bag.
        declared = metadata if metadata is None else replace(metadata, texts={})
        return Db3Recording(path, declared, options.types_dir, sole=sole)

    return open_compressed(file, open_plain) if is_compressed(read_head(file)) else open_plain(file)
