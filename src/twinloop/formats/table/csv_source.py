"""CSV files, block by block, past the cells and rows that do not fit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.formats.notes import Notes
    from twinloop.formats.table.dialect import Dialect

_BLOCK = 4 << 20
#: A line longer than this is no line of a table.
_LONGEST_LINE = 64 << 20
#: Rows are counted at opening in files up to this size (a fraction of a second).
_COUNTED = 256 << 20
_EDGE = 1 << 16
#: Cells and rows noted one by one, for each column; the rest are counted in one note.
_NOTED = 10
_NUMBER = r"^\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?nan|[+-]?inf(inity)?)\s*$"
_WHOLE = r"^\s*[+-]?(\d{1,18}|[1-8]\d{18})\s*$"
_BIG = 1 << 53


class CsvSource:
    """The rows of a CSV file. Column types are those of its first block; see the package's page.

    `counted`: files up to so many bytes are gone through when opened, to count their rows.
    """

    def __init__(self, path: Path, dialect: Dialect, notes: Notes, counted: int = _COUNTED) -> None:
        self.columns = dialect.columns
        self._path = path
        self._dialect = dialect
        self._notes = notes
        first = next(iter(self._blocks()), b"")
        if not first:
            raise UnreadableError("the table has no rows", where=str(path), expected="rows below the header")
        self._types = self._types_of(first)
        self.rows = self._count_rows() if path.stat().st_size <= counted else None

    def batches(self, columns: Collection[str], exact: Collection[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        row = 0
        wanted = [name for name in self.columns if name in columns or name in exact]
        types = {name: pa.string() if name in exact else self._types[name] for name in wanted}
        bad: Counter[str] = Counter()
        for block in self._blocks():
            table, rows = self._parse(block, types, row, bad)
            yield from ((batch, row) for batch in self._pointed(table, exact).combine_chunks().to_batches())
            row += rows
        for name, count in bad.items():
            if count > _NOTED:
                what = f"cells of column {name} that are no numbers" if name else "rows of another length"
                self._notes.add(Problem.BAD_VALUE, f"{count} {what} in all", Where(file=str(self._path)))

    def edges(self, column: str) -> tuple[pa.Array, pa.Array]:
        types = {column: pa.string()}
        first = next(iter(self._blocks(_EDGE)), b"")
        with self._path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(self._dialect.skip, size - _EDGE))
            last = file.read()
        if size - _EDGE > self._dialect.skip:
            last = last[last.find(b"\n") + 1 :]
        tables = [self._as_text(block, types, Counter(), None)[0] for block in (first, last)]
        ends = [self._pointed(table, types).column(0).combine_chunks() for table in tables]
        return ends[0], ends[1]

    def _pointed(self, table: pa.Table, exact: Collection[str]) -> pa.Table:
        """The table with decimal points in the columns that stay text."""
        if self._dialect.decimal == ",":
            for name in exact:
                column = pc.replace_substring(table.column(name), ",", ".")
                table = table.set_column(table.schema.get_field_index(name), name, column)
        return table

    def _blocks(self, size: int = _BLOCK) -> Iterator[bytes]:
        """Whole lines, about `size` bytes at a time."""
        with self._path.open("rb") as file:
            file.seek(self._dialect.skip)
            rest = b""
            while piece := file.read(size):
                cut = piece.rfind(b"\n") + 1
                if not cut:
                    rest += piece
                    if len(rest) > _LONGEST_LINE:
                        at = file.tell() - len(rest)
                        where = Where(file=str(self._path), byte=at)
                        self._notes.add(
                            Problem.CORRUPT, "a line without an end; reading stops here", where, None
                        )
                        return
                    continue
                yield rest + piece[:cut]
                rest = piece[cut:]
            if rest.strip():
                yield rest + b"\n"

    def _parse(
        self, block: bytes, types: dict[str, pa.DataType], row: int, bad: Counter[str]
    ) -> tuple[pa.Table, int]:
        """The block's table, and how many rows its lines were."""
        import pyarrow.csv as csv

        try:
            table = csv.read_csv(pa.BufferReader(block), *self._options(types, types))
        except (pa.ArrowException, ValueError):
            return self._as_text(block, types, bad, row)
        return table, table.num_rows

    def _options(
        self, names: Collection[str], types: dict[str, pa.DataType], handler: object = None
    ) -> tuple[object, object, object]:
        import pyarrow.csv as csv

        mark = self._dialect.decimal
        return (
            csv.ReadOptions(column_names=self.columns, use_threads=handler is None, block_size=1 << 30),
            csv.ParseOptions(delimiter=self._dialect.delimiter, invalid_row_handler=handler),
            csv.ConvertOptions(
                column_types=types, include_columns=list(names), strings_can_be_null=True, decimal_point=mark
            ),
        )

    def _as_text(
        self, block: bytes, types: dict[str, pa.DataType], bad: Counter[str], row: int | None
    ) -> tuple[pa.Table, int]:
        """The block parsed as text, then each column converted as far as it goes. `row` None: note nothing."""
        import pyarrow.csv as csv

        skipped: list[tuple[int, str]] = []

        def skip(line: csv.InvalidRow) -> str:
            skipped.append(((line.number or 1) - 1, line.text))
            return "skip"

        texts = dict.fromkeys(types, pa.string())
        clean = block.decode("utf-8", "replace").encode()
        try:
            table = csv.read_csv(pa.BufferReader(clean), *self._options(texts, texts, skip))
        except (pa.ArrowException, ValueError) as error:
            where = Where(file=str(self._path), row=row)
            self._notes.add(Problem.CORRUPT, f"rows that do not parse: {error}", where, None)
            empty = pa.table({name: pa.array([], kind) for name, kind in types.items()})
            return empty, block.count(b"\n")
        for place, text in skipped:
            bad[""] += 1
            if row is not None and bad[""] <= _NOTED:
                self._note(row + place, f"a row of another length is left out: {text[:80]!r}", 1)
        places = np.setdiff1d(np.arange(table.num_rows + len(skipped)), [place for place, _ in skipped])
        columns = {}
        for name, kind in types.items():
            column = table.column(name).combine_chunks()
            columns[name] = column
            if not pa.types.is_string(kind):
                columns[name], wrong = self._numbers(column, kind)
                for place in wrong[: max(0, _NOTED - bad[name])] if row is not None else ():
                    text = column[place].as_py()
                    self._note((row or 0) + int(places[place]), f"column {name} holds {text[:80]!r}, no number")
                bad[name] += len(wrong)
        return pa.table(columns), table.num_rows + len(skipped)

    def _numbers(self, column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
        """Text as numbers, null where it is none, and the places of the latter."""
        if self._dialect.decimal == ",":
            column = pc.replace_substring(column, ",", ".")
        pattern = _WHOLE if pa.types.is_integer(kind) else _NUMBER
        fits = pc.fill_null(pc.match_substring_regex(column, pattern, ignore_case=True), True)
        wrong = np.flatnonzero(~np.asarray(fits))
        kept = pc.if_else(fits, pc.utf8_trim_whitespace(column), None)
        return pc.cast(kept, kind), wrong.tolist()

    def _note(self, row: int, message: str, lost: int = 0) -> None:
        line = row + self._dialect.skip_lines + 1
        self._notes.add(
            Problem.BAD_VALUE, f"line {line}: {message}", Where(file=str(self._path), row=row), lost
        )

    def _types_of(self, block: bytes) -> dict[str, pa.DataType]:
        """float64 for columns of numbers (int64 where they are too large for it), string for all others."""
        texts = dict.fromkeys(self.columns, pa.string())
        sample, _ = self._as_text(
            block[: block.rfind(b"\n", 0, _EDGE * 8) + 1] or block, texts, Counter(), None
        )
        types = {}
        for name in self.columns:
            column = sample.column(name).combine_chunks().drop_null()
            mark = self._dialect.decimal
            numbers = pc.replace_substring(column, ",", ".") if mark == "," else column
            fits = np.asarray(pc.match_substring_regex(numbers, _NUMBER, ignore_case=True))
            types[name] = pa.string()
            if not len(fits) or fits.mean() > 0.5:
                types[name] = pa.int64() if _needs_integers(numbers) else pa.float64()
        return types

    def _count_rows(self) -> int:
        """Lines below the header."""
        with self._path.open("rb") as file:
            file.seek(self._dialect.skip)
            lines, last = 0, b"\n"
            while piece := file.read(_BLOCK):
                lines += piece.count(b"\n")
                last = piece[-1:]
        return lines + (last != b"\n")


def _needs_integers(column: pa.Array) -> bool:
    """Whether a column holds whole numbers that float64 would round."""
    if not len(column):
        return False
    whole = pc.match_substring_regex(column, _WHOLE)
    if not pc.all(whole).as_py():
        return False
    values = np.asarray(pc.cast(pc.utf8_trim_whitespace(column), pa.int64()))
    return bool((np.abs(values) > _BIG).any())
