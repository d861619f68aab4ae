"""Which files are videos, by their first bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: First box types of MP4 and QuickTime files.
_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"skip", b"free", b"pnot")
#: Brands of the same container that hold no video: pictures and sound.
_NO_VIDEO = (b"heic", b"heix", b"mif1", b"avif", b"M4A ", b"M4B ", b"crx ")
_HEAD = 16

#: Suffixes worth looking into when a folder is searched; a single file is judged by its bytes alone.
SUFFIXES = frozenset({".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi"})
#: Files of other formats that make a folder something else than a folder of videos.
_OTHERS = frozenset({".mcap", ".bag", ".db3", ".vrs"})
#: Entries of a folder looked at.
_MOST = 10_000


def is_video(head: bytes) -> bool:
    """Whether the first bytes are those of MP4, QuickTime, Matroska, WebM or AVI."""
    if head[4:8] in _BOXES:
        return head[8:12] not in _NO_VIDEO or head[4:8] != b"ftyp"
    if head[:4] == b"\x1aE\xdf\xa3":
        return True
    return head[:4] == b"RIFF" and head[8:12] == b"AVI "


def video_files(folder: Path) -> list[Path]:
    """The video files directly in a folder, sorted; empty where the folder is a recording of another kind."""
    found: list[Path] = []
    try:
        for number, path in enumerate(folder.iterdir()):
            if path.suffix.lower() in _OTHERS or number >= _MOST:
                return []
            if _is_named_so(path):
                with path.open("rb") as file:
                    if is_video(file.read(_HEAD)):
                        found.append(path)
    except OSError:
        return []
    return sorted(found)


def named_as_videos(folder: Path) -> list[Path]:
    """The files directly in a folder that are named as videos, sorted, whatever is in them."""
    return sorted(path for path in folder.iterdir() if _is_named_so(path))


def _is_named_so(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
