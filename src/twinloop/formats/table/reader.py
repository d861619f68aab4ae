"""The reader `table`: CSV and Parquet files with times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import MappingError, UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions
    from twinloop.formats.table.fields import FieldPlan
    from twinloop.formats.table.sidecar import TableMapping
    from twinloop.formats.table.source import TableSource

_PARQUET = b"PAR1"
#: Names that a folder's mapping may not stand for.
_NO_TABLES = frozenset({".toml", ".md", ".json", ".yaml", ".yml"})


class TableReader:
    """Tables: see the package's page for the mapping file and for what happens to bad cells."""

    name = "table"
    title = "CSV or Parquet table"
    keeps = "every column and row, times exact to the nanosecond; kinds and units from a small mapping file"
    loses = "cells that are no numbers where numbers stand, rows of another length: noted with their row"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """Parquet; text with a header that names a time; text with a mapping file beside it; a folder with
        table.toml."""
        from twinloop.formats.table.dialect import is_text, looks_timed

        if not head:
            return path.is_dir() and (path / "table.toml").is_file()
        if head[:4] == _PARQUET:
            return True
        if not is_text(head) or path.suffix.lower() in _NO_TABLES:
            return False
        return looks_timed(head) or _sidecar(path) is not None

    def open(self, path: Path, options: ReadOptions) -> Recording:
        """Read the header, the first rows, the ends of the time column; count the lines of smaller files.

        Raises:
            UnreadableError: no table can be seen in the file, or a Parquet file has no footer.
            MappingError: the mapping file does not parse or does not fit the table.
        """
        from twinloop.formats.table.fields import plan_streams, plan_table
        from twinloop.formats.table.recording import PlannedStream, TableRecording
        from twinloop.formats.table.sidecar import TableMapping, load_sidecar
        from twinloop.formats.table.times import row_times

        sidecar = options.table_mapping or (path / "table.toml" if path.is_dir() else _sidecar(path))
        mapping = load_sidecar(sidecar) if sidecar else TableMapping()
        file = _file_of(path, mapping) if path.is_dir() else path
        notes = Notes()
        source, encoding = _open_source(file, mapping, notes)
        times = row_times(source, mapping.time, file, notes)
        if times is None:
            notes.add(
                Problem.SCHEMA,
                "no column is one of times: the rows have an order and nothing more",
                Where(file=str(file)),
            )
        time = times.column if times else None
        if mapping.streams:
            plans = plan_streams(mapping, source.columns, time)
            said = {stream.name: stream for stream in mapping.streams}
            streams = [PlannedStream(p, said[p.name].role, said[p.name].rate_hz) for p in plans]
        else:
            plans = [plan_table(file.stem, source.columns, _times_of(time))]
            streams = [PlannedStream(plans[0])]
        files = (file,) if sidecar is None else (file, sidecar)
        return TableRecording(
            path,
            encoding=encoding,
            source=source,
            times=times,
            streams=streams,
            files=files,
            metadata=_metadata(source, plans, time, sidecar),
            notes=notes,
        )


def _open_source(file: Path, mapping: TableMapping, notes: Notes) -> tuple[TableSource, str]:
    from twinloop.formats.reader import read_head
    from twinloop.formats.table.csv_source import CsvSource
    from twinloop.formats.table.dialect import dialect_of
    from twinloop.formats.table.parquet_source import ParquetSource

    head = read_head(file)
    if head[:4] == _PARQUET:
        return ParquetSource(file, notes), "parquet"
    dialect = dialect_of(head, mapping.table)
    if dialect is None:
        raise UnreadableError(
            "no table can be seen in the file",
            where=str(file),
            expected="text with a header line, or a mapping file that names the columns",
            fix=f"write {file.name}.twinloop.toml with [table] header = false, columns = [...]",
        )
    return CsvSource(file, dialect, notes), "csv"


def _sidecar(path: Path) -> Path | None:
    from twinloop.formats.table.sidecar import find_sidecar

    return find_sidecar(path)


def _file_of(folder: Path, mapping: TableMapping) -> Path:
    """The one table of a folder that its mapping is about."""
    found = [
        file
        for file in sorted(folder.glob(mapping.file))
        if file.is_file() and file.suffix.lower() not in _NO_TABLES and not file.name.startswith(".")
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(file.name for file in found[:8]) or "none"
    raise MappingError(
        f'the mapping\'s file = "{mapping.file}" fits {len(found)} files of the folder: {names}',
        where=mapping.path,
        expected="exactly one; or open the files one by one",
    )


def _times_of(time: str | None) -> set[str]:
    from twinloop.core.kinds import TIME_COLUMNS

    return {*TIME_COLUMNS, *([time] if time else [])}


def _metadata(
    source: TableSource, plans: list[FieldPlan], time: str | None, sidecar: Path | None
) -> dict[str, str]:
    used = {column for plan in plans for column in plan.sources} | _times_of(time)
    metadata = {"columns": ", ".join(source.columns)}
    unused = [column for column in source.columns if column not in used]
    if unused:
        metadata["columns_not_mapped"] = ", ".join(unused)
    if sidecar is not None:
        metadata["mapping"] = str(sidecar)
    return metadata


READER = TableReader()
