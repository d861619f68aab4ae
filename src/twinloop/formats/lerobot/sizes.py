"""How many bytes each column takes in the data files, by their footers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from twinloop.formats.parquet import PARQUET_ERRORS

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

#: Footers read at opening at most; a dataset of more files does not tell.
_MOST_FILES = 512


def column_bytes(paths: Collection[Path]) -> Counter[str]:
    """Compressed bytes of each column over all files; empty for very many files."""
    import pyarrow.parquet as pq

    sizes: Counter[str] = Counter()
    if len(paths) > _MOST_FILES:
        return sizes
    for path in paths:
        try:
            footer = pq.read_metadata(path, memory_map=True)
        except PARQUET_ERRORS:
            continue  # noted where its rows are read
        names = footer.schema.to_arrow_schema().names
        leaves = [_owner(footer.schema.column(i).path, names) for i in range(footer.num_columns)]
        for group in range(footer.num_row_groups):
            row_group = footer.row_group(group)
            for leaf, name in enumerate(leaves):
                sizes[name] += row_group.column(leaf).total_compressed_size
    return sizes


def _owner(leaf: str, names: list[str]) -> str:
    """The top-level column of a leaf: names hold dots themselves, so the longest that fits."""
    return max((n for n in names if leaf == n or leaf.startswith(n + ".")), key=len, default=leaf)
