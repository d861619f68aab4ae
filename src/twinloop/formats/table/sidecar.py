"""The mapping file of a table: what its columns mean."""

from __future__ import annotations

import fnmatch
import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from twinloop.core.clock import Epoch
from twinloop.core.errors import MappingError
from twinloop.core.kinds import Kind, Role, StampSource

FOLDER_FILE = "table.toml"
OWN_SUFFIX = ".twinloop.toml"


class TableLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to read a CSV file; None: seen from the file. `columns` are its names where it has no header."""

    delimiter: str | None = None
    header: bool | None = None
    columns: tuple[str, ...] = ()
    decimal: Literal[".", ","] | None = None


class TimeColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the times are; what is None is taken from the header and the numbers."""

    column: str | None = None
    unit: Literal["s", "ms", "us", "ns", "iso"] | None = None
    source: StampSource | None = None
    epoch: Epoch | None = None


class MappedStream(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stream: `columns` maps a field of the kind's layout to the table's columns that make it up.

    For kind table it maps the names that columns get to their names in the file; empty: all columns that no
    other stream takes. `names` are the joints' (default: the columns').
    """

    name: str
    kind: Kind = Kind.TABLE
    columns: dict[str, str | tuple[str, ...]] = {}
    units: dict[str, str] = {}
    names: tuple[str, ...] = ()
    role: Role | None = None
    frame_id: str = ""
    rate_hz: float | None = None


class TableMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole mapping file. `path` is where it was read from."""

    schema: Literal[1] = 1
    file: str = "*"
    table: TableLayout = TableLayout()
    time: TimeColumn = TimeColumn()
    streams: tuple[MappedStream, ...] = ()
    path: str = ""


def find_sidecar(table: Path) -> Path | None:
    """The mapping file beside a table: its own first, the folder's if it is about this file."""
    own = table.with_name(table.name + OWN_SUFFIX)
    if own.is_file():
        return own
    shared = table.with_name(FOLDER_FILE)
    if not shared.is_file() or table.suffix == ".toml":
        return None
    try:
        pattern = str(tomllib.loads(shared.read_text(encoding="utf-8-sig")).get("file", "*"))
    except (OSError, ValueError):
        return shared  # opening says what is wrong with it
    return shared if fnmatch.fnmatch(table.name, pattern) else None


def describes_table(path: Path) -> bool:
    """Whether a mapping file is about a table (and not one of features, or no TOML at all)."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return False
    return "features" not in raw and bool({"streams", "time", "table"} & raw.keys())


def load_sidecar(path: Path) -> TableMapping:
    """The mapping file at `path`.

    Raises:
        MappingError: it does not parse, or says something that there is not.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        return msgspec.convert({**raw, "path": str(path)}, TableMapping)
    except OSError as error:
        raise MappingError(f"the mapping cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:  # tomllib's and msgspec's errors alike
        raise MappingError(
            f"the mapping of a table does not parse: {error}",
            where=str(path),
            expected="[time], [[streams]] with name, kind and columns",
            fix="see the documentation of the format `table`",
        ) from error
