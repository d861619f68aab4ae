"""What is to be taken in: recordings found below the paths given, and what `session.toml` says of them."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import MappingError, TwinloopError, UnknownNameError, UsageError
from twinloop.core.session import Outcome, SessionFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SESSION_FILE, MAPPING_FILE = "session.toml", "mapping.toml"
_FACTS = tuple(field.name for field in fields(SessionFacts) if field.name != "meta")
_KNOWN = (*_FACTS, "meta", "session", "outcome", "raw", "images", "mapping", "types")
_RAW, _IMAGES = ("copy", "reference"), ("lossless", "h264")
#: A file so named was meant as a recording: unreadable, it goes to quarantine instead of being passed over.
_RECORDING_SUFFIXES = frozenset(
    {".mcap", ".bag", ".db3", ".sqlite3", ".active", ".vrs", ".hdf5", ".h5", ".rrd", ".ulg"}
)


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What the user says of recordings beyond their paths.

    Attributes:
        facts: task, operator... and `meta`. outcome: of every episode that does not state its own.
        session: the session they join, as the user names it; None: one new session each.
        mapping: a mapping file; None: one beside the recording, or a proposal.
        types_dir: message definitions for bags without any.
        raw: ``copy`` or ``reference``. images: ``lossless`` or ``h264``, for raw pictures.
    """

    facts: SessionFacts = SessionFacts()
    outcome: Outcome | None = None
    session: str | None = None
    mapping: Path | None = None
    types_dir: Path | None = None
    raw: str = "copy"
    images: str = "lossless"

    def __post_init__(self) -> None:
        if self.raw not in _RAW:
            raise UnknownNameError("way to keep raw files", self.raw, _RAW)
        if self.images not in _IMAGES:
            raise UnknownNameError("way to hold images", self.images, _IMAGES)


@dataclass(frozen=True, slots=True)
class Found:
    """The recordings below the paths given, and files in their folders that hold none."""

    recordings: tuple[Path, ...]
    passed_over: tuple[Path, ...] = field(default=())


def find_recordings(paths: Sequence[Path]) -> Found:
    """Recordings among `paths` and below them, each once, in order.

    A path that was named is a recording whatever is in it; a folder that no reader knows is searched.

    Raises:
        UsageError: a folder has no recording in it.
    """
    recordings: list[Path] = []
    passed_over: list[Path] = []
    for path in paths:
        if _is_refused(path) or not path.is_dir() or _is_known(path):
            recordings.append(path)
            continue
        inside = list(_search(path, passed_over, set()))
        if not inside:
            raise UsageError(
                "the folder holds no recording of a known format",
                where=str(path),
                fix="`twinloop formats` lists what is known",
            )
        recordings += inside
    return Found(tuple(dict.fromkeys(path.absolute() for path in recordings)), tuple(passed_over))


def _search(folder: Path, passed_over: list[Path], searched: set[str]) -> Iterator[Path]:
    """The recordings below a folder. `searched`: folders that need no second search, by their true paths."""
    searched.add(os.path.realpath(folder))
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in (SESSION_FILE, MAPPING_FILE):
            continue
        if _is_refused(path) or _is_known(path) or _is_meant(path):
            yield path
        elif path.is_dir():
            if os.path.realpath(path) not in searched:
                yield from _search(path, passed_over, searched)
        else:
            passed_over.append(path)


def _is_meant(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in _RECORDING_SUFFIXES


def _is_refused(path: Path) -> bool:
    """Whether the system does not let us look inside: taken for a recording, so that it is told."""
    try:
        needed = os.R_OK | os.X_OK if path.is_dir() else os.R_OK
        return path.exists() and not os.access(path, needed)
    except PermissionError:  # the folder that it is in may not be entered
        return True


def _is_known(path: Path) -> bool:
    from twinloop.formats.reader import find_reader

    try:
        find_reader(path)
    except TwinloopError:
        return False
    return True


def options_for(path: Path, given: IngestOptions) -> IngestOptions:
    """`given`, completed by the `session.toml` in or beside a recording; what was given wins.

    Raises:
        UsageError: the file does not parse or has a key that means nothing.
    """
    file = _beside(path, SESSION_FILE)
    if file is None:
        return given if given.mapping else replace(given, mapping=_beside(path, MAPPING_FILE))
    stated = _read(file)
    facts = {name: getattr(given.facts, name) or _text(stated, name, file) for name in _FACTS}
    meta = {**_meta(stated, file), **given.facts.meta}
    mapping = given.mapping or _path(stated, "mapping", file) or _beside(path, MAPPING_FILE)
    return IngestOptions(
        facts=SessionFacts(**facts, meta=meta),
        outcome=given.outcome or _outcome(_text(stated, "outcome", file), file),
        session=given.session or _text(stated, "session", file),
        mapping=mapping,
        types_dir=given.types_dir or _path(stated, "types", file),
        raw=given.raw if given.raw != "copy" else _text(stated, "raw", file) or given.raw,
        images=given.images if given.images != "lossless" else _text(stated, "images", file) or given.images,
    )


def parse_outcome(text: str | None) -> Outcome | None:
    """An outcome by its name; UnknownNameError for any other."""
    if text is None:
        return None
    try:
        return Outcome(text.lower())
    except ValueError:
        raise UnknownNameError("outcome", text, list(Outcome)) from None


def _beside(path: Path, name: str) -> Path | None:
    places = (path, path.parent) if path.is_dir() else (path.parent,)
    return next((place / name for place in places if (place / name).is_file()), None)


def _read(file: Path) -> dict[str, object]:
    try:
        stated = tomllib.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{SESSION_FILE} cannot be read: {error}", where=str(file)) from None
    for key in stated:
        if key not in _KNOWN:
            raise UnknownNameError(f"key of {SESSION_FILE} ({file})", key, _KNOWN)
    return stated


def _text(stated: Mapping[str, object], key: str, file: Path) -> str | None:
    value = stated.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key} is {value!r}", where=str(file), expected=f'text: {key} = "..."')
    return value


def _path(stated: Mapping[str, object], key: str, file: Path) -> Path | None:
    text = _text(stated, key, file)
    return file.parent / text if text else None


def _meta(stated: Mapping[str, object], file: Path) -> dict[str, str]:
    table = stated.get("meta", {})
    if not isinstance(table, dict):
        raise UsageError(f"meta is {table!r}", where=str(file), expected="a table: [meta]")
    return {key: value if isinstance(value, str) else str(value) for key, value in table.items()}


def _outcome(text: str | None, file: Path) -> Outcome | None:
    try:
        return parse_outcome(text)
    except UnknownNameError as error:
        error.where = str(file)
        raise


def check_paths(options: IngestOptions) -> None:
    """Raise UsageError for a mapping file or types folder that is not there."""
    if options.mapping and not options.mapping.is_file():
        raise MappingError("there is no such mapping file", where=str(options.mapping))
    if options.types_dir and not options.types_dir.is_dir():
        raise UsageError("there is no such folder of types", where=str(options.types_dir))
