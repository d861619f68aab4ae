"""The reader `vrs`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions

_MAGIC = b"VisionRe"
_MAGIC_3, _MAGIC_3_AT = b"cord", 72
#: Entries of a folder looked at.
_MOST = 1000


class VrsReader:
    """A VRS file, or a folder with one, and what lies beside it: MPS results, transcripts, ground truth."""

    name = "vrs"
    title = "VRS (Project Aria gen 1 and 2)"
    keeps = (
        "every record's fields, pictures and sound; device, host and record times apart; MPS results beside it"
    )
    loses = "recordings that are split over several files"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """The magic words of the header; a folder with exactly one such file, directly inside."""
        if head:
            return head.startswith(_MAGIC) and head[_MAGIC_3_AT : _MAGIC_3_AT + 4] == _MAGIC_3
        return path.is_dir() and _file_in(path) is not None

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002  (nothing to say)
        """Read the description, the index, the configuration of each stream, and its first and last record.

        Raises:
            UnreadableError: neither description nor records can be found.
        """
        from twinloop.core.errors import UnreadableError
        from twinloop.formats.mps.parts import parts_beside
        from twinloop.formats.vrs.recording import VrsRecording

        file = _file_in(path) if path.is_dir() else path
        if file is None:
            raise UnreadableError("the folder holds not exactly one VRS file", where=str(path))
        return VrsRecording(path, file, parts_beside(file))


def _file_in(folder: Path) -> Path | None:
    """The one VRS file of a folder; None where folders in it have others, which are recordings of their own."""
    try:
        inside = list(islice(folder.iterdir(), _MOST))
        found = [path for path in inside if _is_vrs(path)]
        if len(inside) == _MOST or len(found) != 1:
            return None
        below = (path for each in inside if each.is_dir() for path in islice(each.rglob("*.vrs"), _MOST))
        return None if any(map(_is_vrs, below)) else found[0]
    except OSError:
        return None


def _is_vrs(path: Path) -> bool:
    if path.suffix.lower() != ".vrs" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_MAGIC_3_AT + 4)
    return head.startswith(_MAGIC) and head.endswith(_MAGIC_3)


READER = VrsReader()
