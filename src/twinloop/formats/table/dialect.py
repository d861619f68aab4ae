"""How a CSV file is written: delimiter, header, comments, decimal mark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.formats.time_column import bare, best_time

if TYPE_CHECKING:
    from twinloop.formats.table.sidecar import TableLayout

_DELIMITERS = ",;\t|"
#: Lines that must agree on the number of cells.
_LOOK = 5


@dataclass(frozen=True, slots=True)
class Dialect:
    """`columns` are the names, `skip` the bytes before the first row, `skip_lines` the lines in them."""

    delimiter: str
    columns: tuple[str, ...]
    skip: int
    skip_lines: int
    decimal: str = "."


def is_text(head: bytes) -> bool:
    """Whether bytes can be the start of a text file in UTF-8 or a superset of ASCII."""
    return bool(head) and not any(byte < 9 or 13 < byte < 32 for byte in head)


def dialect_of(head: bytes, layout: TableLayout | None = None) -> Dialect | None:
    """The dialect of a file that starts with `head`; what `layout` says is not looked for.

    The header is the first line that is no comment, or the last comment line where its cells are as many as
    those of the first row (``#timestamp [ns],x,y``). None: no table can be seen.
    """
    if not is_text(head):
        return None
    start = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    lines = head[start:].decode("utf-8", "replace").splitlines(keepends=True)
    comments = 0
    while comments < len(lines) and (not lines[comments].strip() or lines[comments].lstrip().startswith("#")):
        comments += 1
    body = [line for line in lines[comments : comments + _LOOK] if line.strip()]
    if not body:
        return None
    delimiter = (layout and layout.delimiter) or _delimiter(body)
    first = _cells(body[0], delimiter)
    above = _cells(lines[comments - 1].lstrip().lstrip("#"), delimiter) if comments else []
    skipped = comments
    if layout and layout.columns:
        names = list(layout.columns)
        skipped += int(layout.header is True)
    elif len(above) == len(first) and best_time(above) and all(_is_number(cell) for cell in first[:1]):
        names = above
    elif layout and layout.header is False:
        names = [f"c{k}" for k in range(len(first))]
    elif all(_is_number(cell) or not cell for cell in first):
        return None
    else:
        names = first
        skipped += 1
    rows = [_cells(line, delimiter) for line in body[skipped - comments :]]
    decimal = (layout and layout.decimal) or _decimal(rows, delimiter)
    skip = start + sum(len(line.encode("utf-8", "replace")) for line in lines[:skipped])
    return Dialect(delimiter, _distinct(names), skip, skipped, decimal)


def looks_timed(head: bytes) -> bool:
    """Whether a file is a table with a header that names a time, and rows that have one there."""
    dialect = dialect_of(head)
    if dialect is None or len(dialect.columns) < 2:
        return False
    column = best_time(dialect.columns)
    if column is None:
        return False
    rows = head[dialect.skip :].decode("utf-8", "replace").splitlines()
    cells = [_cells(row, dialect.delimiter) for row in rows[:_LOOK] if row.strip()]
    whole = cells[:-1] if len(cells) > 1 and len(head) >= 4096 else cells
    position = dialect.columns.index(column)
    return bool(whole) and any(
        len(row) == len(dialect.columns) and row[position].lstrip("+-")[:1].isdigit() for row in whole
    )


def _delimiter(lines: list[str]) -> str:
    """The mark that cuts the lines into equal numbers of cells, the most of them."""

    def score(mark: str) -> tuple[bool, int]:
        counts = [len(_cells(line, mark)) for line in lines]
        return (len(set(counts[: max(2, len(counts) - 1)])) == 1, counts[0])

    return max(_DELIMITERS, key=score)


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of one line; a delimiter inside double quotes does not cut."""
    if '"' not in line:
        return [cell.strip() for cell in line.strip("\r\n").split(delimiter)]
    import csv

    return [cell.strip() for cell in next(csv.reader([line.strip("\r\n")], delimiter=delimiter), [])]


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    commas = sum(cell.count(",") == 1 and _is_number(cell.replace(",", ".")) for cell in cells)
    return "," if commas and not any("." in cell and _is_number(cell) for cell in cells) else "."


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _distinct(names: list[str]) -> tuple[str, ...]:
    """The names without quotes and comment marks; empty and repeated ones get a number."""
    clean = [name.strip().strip('"').lstrip("#%").strip() or f"c{k}" for k, name in enumerate(names)]
    return tuple(
        name if clean.index(name) == k else f"{name}_{k}"
        for k, name in enumerate(clean)
        if bare(name) is not None
    )
