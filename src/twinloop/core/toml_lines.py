"""Where a key stands in a TOML file, and the reason written beside it, neither of which tomllib keeps."""

from __future__ import annotations

import re

_TABLES = re.compile(r"^\[\[\s*([A-Za-z0-9_.\-]+)\s*\]\]")
_TABLE = re.compile(r"^\[\s*([A-Za-z0-9_.\-]+)\s*\]")
_KEY = re.compile(r"^([A-Za-z0-9_\-]+|\"[^\"]*\"|'[^']*')\s*=")
_WHY = re.compile(r"^#\s*why:\s*(.*)$")

Place = tuple[str | int, ...]


class TomlLines:
    """Line numbers (from 1) of a TOML file's tables and keys, and its ``# why:`` comments.

    A place is a path such as ``("features", 2, "unit")``: the key `unit` of the third ``[[features]]``.
    A reason is a comment ``# why: ...`` inside a table; comment lines right below it go on with it.
    """

    def __init__(self, text: str) -> None:
        self.reasons: dict[Place, str] = {}
        self._lines: dict[Place, int] = {}
        counts: dict[str, int] = {}
        table: Place = ()
        in_reason = False
        for number, line in enumerate(map(str.strip, text.splitlines()), 1):
            if in_reason and line.startswith("#"):
                self.reasons[table] += " " + line[1:].strip()
                continue
            if match := _WHY.match(line):
                self.reasons[table] = match[1]
                in_reason = True
                continue
            in_reason = False
            if match := _TABLES.match(line):
                table = (match[1], counts.get(match[1], 0))
                counts[match[1]] = counts.get(match[1], 0) + 1
                self._lines[table] = number
            elif match := _TABLE.match(line):
                table = (match[1],)
                self._lines[table] = number
            elif match := _KEY.match(line):
                self._lines[(*table, match[1].strip("\"'"))] = number

    def line(self, *place: str | int) -> int | None:
        """The line of a place, or of the nearest table around it; None where neither is in the file."""
        for length in range(len(place), 0, -1):
            if (number := self._lines.get(place[:length])) is not None:
                return number
        return None
