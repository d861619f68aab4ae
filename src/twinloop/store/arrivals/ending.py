"""Whether a file or folder is at the end that its format has: judged by the last bytes, never by waiting.

Ends looked at: MCAP's closing magic (https://mcap.dev/spec), ROS 1's index position
(http://wiki.ros.org/Bags/Format/2.0), HDF5's end of file and write flag (HDF5 File Format Specification,
superblock), MP4's ``moov`` (ISO/IEC 14496-12), Parquet's closing magic, SQLite's journals, a bag's
``metadata.yaml``, and the files that a folder's own index names.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

#: Endings of names that recorders and copying programs give to what they still write.
UNDER_WAY = frozenset(
    {".active", ".part", ".partial", ".tmp", ".temp", ".crdownload", ".filepart", ".download", ".incomplete"}
)
#: Where the tables and videos of a LeRobot dataset lie; alone they are no recordings.
_OF_A_DATASET = re.compile(r"(.*/)?(data|videos)/(.+/)?(chunk-\d+/)(.+/)?(file-\d+|episode_\d+)\.(parquet|mp4)")
_BAG_PART = re.compile(r"(?P<bag>.*)_\d+\.(mcap|db3)(\.zstd)?")
#: Formats of folders whose index names every file.
_NAMES_ITS_FILES = ("rosbag2", "lerobot")
_MOST_BOXES = 100_000
_HEAD = 4096


def unfinished(path: Path) -> str | None:
    """Why a file or folder cannot be complete yet; None if nothing speaks against it."""
    try:
        return _of_folder(path) if path.is_dir() else _of_file(path)
    except FileNotFoundError:
        return "it went away"
    except OSError:
        return None  # what the system refuses to read is told when it is taken in


def _of_folder(folder: Path) -> str | None:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in UNDER_WAY:
            return f"{path.name} is still being written, by its name"
        if path.is_file() and (why := _of_file(path)):
            return f"{path.relative_to(folder)}: {why}"
    return _missing_files(folder)


def _missing_files(folder: Path) -> str | None:
    """What the folder's own index names and is not there."""
    from twinloop.formats.reader import find_reader, open_recording

    try:
        if find_reader(folder).name not in _NAMES_ITS_FILES:
            return None
        with open_recording(folder) as recording:
            notes = [note for note in recording.notes if note.problem is Problem.MISSING_FILE]
    except Exception:  # what no reader can open is told when it is taken in
        return None
    return notes[0].message if notes else None


def _of_file(path: Path) -> str | None:
    if path.suffix.lower() in UNDER_WAY:
        return "it is still being written, by its name"
    if _OF_A_DATASET.fullmatch(path.as_posix()) and not _dataset_of(path):
        return "it looks like a part of a LeRobot dataset whose meta/info.json is missing"
    if _is_part_of_a_bag(path) and not (path.parent / "metadata.yaml").exists():
        return "it is a part of a bag whose metadata.yaml, which is written last, is missing"
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if not head:
            return "it is empty"
        size = file.seek(0, 2)
        for begins, judge in _JUDGES:
            if begins(head):
                return judge(path, file, head, size)
    return None


def _is_part_of_a_bag(path: Path) -> bool:
    """Whether a file is named as ROS 2 names the files of a bag: for its folder, with a number."""
    part = _BAG_PART.fullmatch(path.name)
    return part is not None and part["bag"] == path.parent.name


def _dataset_of(path: Path) -> bool:
    return any((folder / "meta" / "info.json").is_file() for folder in path.parents)


def _mcap(_: Path, file: BinaryIO, head: bytes, size: int) -> str | None:
    return None if size > 16 and _tail(file, size, 8) == head[:8] else "an MCAP file without its closing magic"


def _parquet(_: Path, file: BinaryIO, head: bytes, size: int) -> str | None:
    return None if size > 12 and _tail(file, size, 4) == head[:4] else "a Parquet file without its footer"


def _rosbag(_: Path, __: BinaryIO, head: bytes, ___: int) -> str | None:
    at = head.find(b"index_pos=")
    if at < 0 or len(head) < at + 18:
        return None
    (index_at,) = struct.unpack_from("<Q", head, at + 10)
    return None if index_at else "a bag whose index was not written yet"


def _sqlite(path: Path, _: BinaryIO, __: bytes, ___: int) -> str | None:
    for suffix in ("-wal", "-journal"):
        beside = path.with_name(path.name + suffix)
        if beside.is_file() and beside.stat().st_size:
            return f"an SQLite file with an open transaction ({beside.name})"
    return None


def _hdf5(_: Path, __: BinaryIO, head: bytes, size: int) -> str | None:
    version = head[8] if len(head) > 8 else 0xFF
    width, base_at, flags_at = (
        (head[13], 24 if version == 0 else 28, None) if version < 2 and len(head) > 13 else (0, 0, 0)
    )
    if version in (2, 3) and len(head) > 12:
        width, base_at, flags_at = head[9], 12, 11
    if width not in (2, 4, 8) or len(head) < base_at + 3 * width:
        return None
    if flags_at is not None and head[flags_at] & 1:
        return "an HDF5 file that its writer did not close"
    base = int.from_bytes(head[base_at : base_at + width], "little")
    end = int.from_bytes(head[base_at + 2 * width : base_at + 3 * width], "little")
    if base + end > size:
        return f"an HDF5 file of {size} bytes that says it has {base + end}"
    return None


def _mp4(_: Path, file: BinaryIO, __: bytes, size: int) -> str | None:
    at, seen = 0, set()
    for _number in range(_MOST_BOXES):
        if at + 8 > size:
            break
        file.seek(at)
        length, kind = struct.unpack(">I4s", file.read(8))
        if length == 1:
            wide = file.read(8)
            length = int.from_bytes(wide, "big") if len(wide) == 8 else 0
        elif length == 0:
            length = size - at
        if length < 8 or at + length > size:
            return "an MP4 file that ends inside a box"
        seen.add(kind)
        at += length
    return None if b"moov" in seen else "an MP4 file without its index (moov)"


def _tail(file: BinaryIO, size: int, count: int) -> bytes:
    file.seek(size - count)
    return file.read(count)


_JUDGES: tuple[
    tuple[Callable[[bytes], bool], Callable[[Path, BinaryIO, bytes, int], str | None]],
    ...,
] = (
    (lambda head: head.startswith(b"\x89MCAP0\r\n"), _mcap),
    (lambda head: head.startswith(b"#ROSBAG V2"), _rosbag),
    (lambda head: head.startswith(b"SQLite format 3\0"), _sqlite),
    (lambda head: head.startswith(b"\x89HDF\r\n\x1a\n"), _hdf5),
    (lambda head: head[4:8] == b"ftyp", _mp4),
    (lambda head: head.startswith(b"PAR1"), _parquet),
)
