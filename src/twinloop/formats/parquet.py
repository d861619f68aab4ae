"""What Parquet readers share: what pyarrow raises, and row groups one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow.parquet import ParquetFile

#: On a file that is cut off, damaged or none at all. ValueError: a column name that is no UTF-8; KeyError: a
#: column that is not there.
PARQUET_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError)


def row_groups(file: ParquetFile) -> Iterator[tuple[int, range]]:
    """(row group, its rows): each stands on its own, so a damaged one costs no other."""
    first = 0
    for group in range(file.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        yield group, range(first, first + count)
        first += count
