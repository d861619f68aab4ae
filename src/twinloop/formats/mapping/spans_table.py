"""Episodes from a table of spans: a CSV beside the recording with columns start and end."""

from __future__ import annotations

import csv
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import MappingError, Where
from twinloop.core.recording import EpisodeSpan
from twinloop.formats.mapping.extent import extent

if TYPE_CHECKING:
    from twinloop.core.mapping import Mapping
    from twinloop.core.recording import Recording

_COLUMNS = {"start": ("start_ns", "start_s", "start"), "end": ("end_ns", "end_s", "end", "stop")}
_INSTRUCTION = ("instruction", "task", "text")
#: Seconds above this count from 1970 (2001-09-09), not from the recording's start.
_UNIX_S = 10**9
#: Plain numbers above this are nanoseconds since 1970.
_UNIX_NS = 10**15


def read_spans(recording: Recording, mapping: Mapping) -> list[EpisodeSpan]:
    """The spans that the table names.

    The path is relative to the recording's folder. Columns: ``start_ns, end_ns`` (nanoseconds of the
    timeline), ``start_s, end_s`` or ``start, end`` (seconds from the recording's first sample; values from
    1e9 on are Unix seconds, from 1e15 on nanoseconds); instruction (or task), outcome; others are kept as
    attributes.

    Raises:
        MappingError: the table is missing or a row cannot be a span of this recording; names file and row.
    """
    file = _table_path(recording, mapping)
    edges = extent(recording, mapping)
    if edges is None:
        return []
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines)
            header = [name.strip() for name in reader.fieldnames or ()]
            reader.fieldnames = header
            start, end = (_find(header, names, file) for names in _COLUMNS.values())
            return [
                _span({k: (v or "").strip() for k, v in row.items() if k}, start, end, edges, file, number)
                for number, row in enumerate(reader)
                if any(row.values())
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise MappingError(
            f"the table of spans cannot be read: {reason}",
            where=str(file),
            expected="a CSV with columns start and end",
        ) from None


def _table_path(recording: Recording, mapping: Mapping) -> Path:
    if mapping.episodes.table is None:
        raise MappingError(
            "[episodes] cuts by spans but names no table",
            where=str(recording.path),
            fix='add table = "spans.csv" to [episodes]',
        )
    folder = recording.path if recording.path.is_dir() else recording.path.parent
    return folder / mapping.episodes.table


def _find(header: list[str], names: tuple[str, ...], file: Path) -> str:
    for name in names:
        if name in header:
            return name
    raise MappingError(
        f"the table of spans has no column {names[-1]}",
        where=str(file),
        expected=f"one of {', '.join(names)}; it has {', '.join(header) or 'none'}",
    )


def _span(
    row: dict[str, str], start: str, end: str, edges: tuple[int, int], file: Path, number: int
) -> EpisodeSpan:
    where = Where(str(file), row=number)
    start_ns = _time(row[start], start, edges[0], where)
    end_ns = _time(row[end], end, edges[0], where)
    if end_ns <= start_ns:
        raise MappingError(f"a span that ends ({row[end]}) before it starts ({row[start]})", where=where)
    if start_ns > edges[1] or end_ns <= edges[0]:
        raise MappingError(
            f"a span ({row[start]} to {row[end]}) outside the recording",
            where=where,
            expected=f"times within {edges[0]} to {edges[1]} ns (0 to {(edges[1] - edges[0]) / 1e9:.3f} s)",
        )
    said = next((name for name in _INSTRUCTION if row.get(name)), None)
    others = {k: v for k, v in row.items() if v and k not in (start, end, said, "outcome")}
    return EpisodeSpan(0, start_ns, end_ns, row[said] if said else None, row.get("outcome") or None, others)


def _time(text: str, column: str, origin_ns: int, where: Where) -> int:
    """A time of the table, exactly, as nanoseconds of the timeline."""
    try:
        value = Decimal(text)
        if not value.is_finite():
            raise InvalidOperation
    except InvalidOperation:
        raise MappingError(f"{column} is no number: {text!r}", where=where) from None
    if column.endswith("_ns") or (not column.endswith("_s") and value >= _UNIX_NS):
        return int(value)
    return int(value * 10**9) + (0 if value >= _UNIX_S else origin_ns)
