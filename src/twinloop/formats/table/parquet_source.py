"""Parquet files, row group by row group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.parquet import PARQUET_ERRORS, row_groups

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.formats.notes import Notes

_BATCH_ROWS = 65_536
MAGIC = b"PAR1"


class ParquetSource:
    """The rows of a Parquet file.

    Raises:
        UnreadableError: its footer is missing or damaged.
    """

    def __init__(self, path: Path, notes: Notes) -> None:
        import pyarrow.parquet as pq

        self._path = path
        self._notes = notes
        try:
            footer = pq.read_metadata(path, memory_map=True)
            self.schema: pa.Schema = footer.schema.to_arrow_schema()
        except PARQUET_ERRORS as error:
            raise UnreadableError(
                f"the parquet file does not open: {error}",
                where=str(path),
                expected="a footer at its end",
                fix="a file that was cut off while it was written or copied has none; fetch it again",
            ) from error
        self.columns = tuple(dict.fromkeys(self.schema.names))
        self.rows: int | None = footer.num_rows

    def batches(self, columns: Collection[str], exact: Collection[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        import pyarrow.parquet as pq

        wanted = [name for name in self.columns if name in columns or name in exact]
        try:
            file = pq.ParquetFile(self._path, memory_map=True)
        except PARQUET_ERRORS as error:
            self._note_lost(range(self.rows or 0), error)
            return
        with file:
            for group, rows in row_groups(file):
                row = rows.start
                try:
                    for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=wanted):
                        yield batch.select(wanted), row
                        row += batch.num_rows
                except PARQUET_ERRORS as error:
                    self._note_lost(range(row, rows.stop), error)

    def _note_lost(self, rows: range, error: Exception) -> None:
        where = Where(file=str(self._path), row=rows.start)
        self._notes.add(
            Problem.CORRUPT, f"rows {rows.start} to {rows.stop} cannot be read: {error}", where, len(rows)
        )

    def edges(self, column: str) -> tuple[pa.Array, pa.Array]:
        import pyarrow.parquet as pq

        empty = pa.array([], self.schema.field(column).type)
        try:
            with pq.ParquetFile(self._path, memory_map=True) as file:
                if not file.num_row_groups:
                    return empty, empty
                groups = (0, file.num_row_groups - 1)
                ends = [file.read_row_group(group, columns=[column]).column(column) for group in groups]
        except PARQUET_ERRORS:
            return empty, empty  # noted where the rows are read
        return ends[0].combine_chunks(), ends[1].combine_chunks()
