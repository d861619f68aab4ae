"""Files that a scene's tables name: found below the scene's folder, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from twinloop.formats.notes import Notes


def find_file(folder: Path, named: str, places: Iterable[str] = ()) -> Path | None:
    """The file that a table calls `named`: relative to the folder, or so named in one of `places`."""
    parts = named.replace("\\", "/").split("/")
    if not named or "\0" in named or ".." in parts or named.startswith("/"):
        return None
    for candidate in (folder.joinpath(*parts), *(folder / place / parts[-1] for place in places)):
        try:
            if candidate.is_file():
                return candidate
        except OSError:  # a name that is too long for the system
            return None
    return None


def note_missing(stream: str, named: Sequence[str], folder: Path, notes: Notes) -> None:
    """Note files of a stream that are not there, all in one."""
    if named:
        shown = ", ".join(name[:80] for name in named[:3]) + (" and others" if len(named) > 3 else "")
        message = f"{len(named)} files that the tables name are not there: {shown}"
        notes.add(Problem.MISSING_FILE, message, Where(file=str(folder), stream=stream), len(named))
