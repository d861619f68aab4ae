"""The rows of a table in a file, plain or compressed by gzip, in batches."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.mps.layouts import exact_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.formats.notes import Notes

#: Bytes at the start of a file that hold its header and some rows.
HEAD_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20
#: Tables up to this size are gone through when opened, to count their rows.
_COUNTED = 8 << 20


class Rows(Protocol):
    """A table. `columns` are its header, `count` its rows where that is known."""

    columns: tuple[str, ...]
    count: int | None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows; columns of times and identities are texts, numbers are doubles or int64."""

    def edges(self, column: str) -> tuple[pa.Array, pa.Array] | None:
        """The first and the last values of a column, as texts; None where the end is not known."""


def table_head(path: Path) -> bytes:
    """The first bytes of a table's text; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if not head.startswith(_GZIP):
            return head
        with gzip.open(path) as unpacked:
            return unpacked.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""


def header_of(head: bytes) -> tuple[str, ...]:
    """The names in the first line of a table; none where the bytes are no text."""
    line, end, _ = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    if not end or b"\0" in line:
        return ()
    return tuple(name.strip() for name in line.decode("utf-8", "replace").strip("\r").split(","))


def open_rows(path: Path, head: bytes, notes: Notes) -> Rows:
    """The rows of a table whose text starts with `head`.

    Raises:
        UnreadableError: it has no rows.
    """
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    return _PackedRows(path, head, notes) if packed else _PlainRows(path, head, notes)


class _PlainRows:
    """A CSV file, past cells and rows that do not fit."""

    def __init__(self, path: Path, head: bytes, notes: Notes) -> None:
        from twinloop.formats.table.csv_source import CsvSource
        from twinloop.formats.table.dialect import Dialect

        self.columns = header_of(head)
        skip = head.index(b"\n") + 1
        self._source = CsvSource(path, Dialect(",", self.columns, skip, 1), notes, _COUNTED)
        self.count = self._source.rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        exact = exact_columns(self.columns)
        for batch, _ in self._source.batches(self.columns, exact):
            yield batch

    def edges(self, column: str) -> tuple[pa.Array, pa.Array] | None:
        return self._source.edges(column)


class _PackedRows:
    """A CSV file inside gzip, unpacked as it is read."""

    def __init__(self, path: Path, head: bytes, notes: Notes) -> None:
        if not head.partition(b"\n")[2].strip():
            raise UnreadableError("the table has no rows", where=str(path))
        self.columns = header_of(head)
        self.count: int | None = None
        self._path, self._notes = path, notes

    def batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow.csv as csv

        exact = exact_columns(self.columns)
        types = {name: pa.string() if name in exact else pa.float64() for name in self.columns}
        skipped: list[str] = []

        def skip(row: csv.InvalidRow) -> str:
            skipped.append(str(row.text or "")[:80])
            return "skip"

        try:
            reader = csv.open_csv(
                pa.input_stream(str(self._path), compression="gzip"),
                csv.ReadOptions(
                    use_threads=False, block_size=_BLOCK, column_names=list(self.columns), skip_rows=1
                ),
                csv.ParseOptions(invalid_row_handler=skip),
                csv.ConvertOptions(column_types=types, strings_can_be_null=True),
            )
            yield from reader
        except (pa.ArrowException, OSError) as error:
            message = f"the table ends early: {str(error).splitlines()[0][:200]}"
            self._notes.add(Problem.TRUNCATED, message, Where(str(self._path)), None)
        if skipped:
            message = f"{len(skipped)} rows of another length are left out; the first is {skipped[0]!r}"
            self._notes.add(Problem.BAD_VALUE, message, Where(str(self._path)), len(skipped))

    def edges(self, column: str) -> tuple[pa.Array, pa.Array] | None:  # noqa: ARG002  (the end lies packed)
        return None
