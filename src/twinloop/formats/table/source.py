"""Where a table's rows come from, whatever the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import pyarrow as pa


class TableSource(Protocol):
    """The rows of one file.

    Attributes:
        columns: names, in order. rows: how many there are, None where counting would mean reading it all.
    """

    columns: tuple[str, ...]
    rows: int | None

    def batches(self, columns: Collection[str], exact: Collection[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """(some columns, number of the first row); `exact` ones are not rounded (text or integers)."""

    def edges(self, column: str) -> tuple[pa.Array, pa.Array]:
        """The first and the last values of a column, enough to see where its times begin and end."""
