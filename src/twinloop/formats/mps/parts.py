"""The parts that lie beside a recording or in a folder of their own, as one set of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, Where
from twinloop.core.kinds import Role
from twinloop.core.recording import Problem
from twinloop.formats.mps.calibration_lines import CalibrationSource
from twinloop.formats.mps.find import Found, find_beside, find_in
from twinloop.formats.mps.layouts import layout_of
from twinloop.formats.mps.rows import header_of, table_head
from twinloop.formats.mps.scene import BOXES, OBJECTS, ObjectSource, SkeletonSource, read_json
from twinloop.formats.mps.sources import Source, TableSource, scan_source
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.core.stream import Batch, Stream

#: Values of JSON files that become metadata are cut to this length.
_LONGEST = 4000


class Parts:
    """Streams, files, metadata and notes of what was found; `calibration` is the sources' own, over time."""

    def __init__(self, found: list[Found]) -> None:
        self._notes = Notes()
        self._sources: dict[str, Source] = {}
        self.metadata: dict[str, str] = {}
        self.calibration: dict[str, object] = {}
        self._files: list[Path] = []
        instances = next((one.path for one in found if one.path.name == "instances.json"), None)
        self._instances = read_json(instances, self._notes) if instances else {}
        boxes = next((one.path for one in found if _is(one.path, BOXES)), None)
        for one in found:
            self._files.append(one.path)
            try:
                self._open(one, boxes)
            except TwinloopError as error:
                self._notes.add(Problem.SCHEMA, error.what, Where(str(one.path)), None)
            except OSError as error:
                self._notes.add(
                    Problem.MISSING_FILE, f"the system refuses it: {error.strerror}", Where(str(one.path))
                )

    @property
    def streams(self) -> dict[str, Stream]:
        return {name: source.streams[name] for name, source in self._sources.items()}

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(self._files))

    def hand_notes_to(self, notes: Notes) -> None:
        """From now on what is seen is noted in `notes`, with what was seen so far."""
        for note in self._notes.all:
            notes.add(note.problem, note.message, note.where, note.lost)
        self._notes.all = notes.all

    def scan(self, names: list[str], start_ns: int | None, end_ns: int | None) -> Iterator[Batch]:
        """The samples of the named streams, one file after the other; none has bulk bytes."""
        for source in dict.fromkeys(self._sources[name] for name in names):
            yield from scan_source(source, [name for name in names if name in source.streams], start_ns, end_ns)

    def _open(self, one: Found, boxes: Path | None) -> None:
        path, notes = one.path, self._notes
        if path.name.endswith(".jsonl"):
            self._add(CalibrationSource(path, one.name, notes))
            return
        if path.suffix == ".json":
            if path.name == "instances.json":
                return
            if _is_skeleton(path):
                self._add(SkeletonSource(path, one.name, notes))
                return
            self._add_metadata(one.name, read_json(path, notes))
            return
        head = table_head(path)
        columns = header_of(head)
        if set(OBJECTS) <= set(columns):
            self._add(ObjectSource(path, boxes, head, self._instances, notes))
            return
        layout = layout_of(columns)
        if layout is not None:
            role = Role.TRUTH if one.name.startswith("truth/") else None
            categories = {uid: str(what.get("category", "")) for uid, what in self._instances.items()}
            self._add(TableSource(path, one.name, layout, head, notes, role=role, categories=categories))
        elif not set(BOXES) <= set(columns):
            message = (
                f"the columns are of no known table; it is left out ({', '.join(columns[:4]) or 'no header'})"
            )
            notes.add(Problem.SCHEMA, message, Where(str(path)), None)

    def _add(self, source: Source) -> None:
        self._sources |= dict.fromkeys(source.streams, source)

    def _add_metadata(self, name: str, document: dict) -> None:
        for key, value in document.items():
            if isinstance(value, dict):
                self._add_metadata(f"{name}/{key}", value)
            else:
                self.metadata[f"{name}/{key}"] = str(value)[:_LONGEST]


def parts_beside(file: Path) -> Parts | None:
    """What lies beside a VRS file and belongs to it; None: nothing."""
    found = find_beside(file)
    return Parts(found) if found else None


def parts_in(path: Path) -> Parts:
    """What lies in a folder of results, or one table of them."""
    return Parts(find_in(path))


def _is(path: Path, columns: tuple[str, ...]) -> bool:
    return path.suffix == ".csv" and set(columns) <= set(header_of(table_head(path)))


def _is_skeleton(path: Path) -> bool:
    from twinloop.formats.mps.find import is_skeleton

    return is_skeleton(path)
