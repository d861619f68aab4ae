"""Rows of numbers between blanks, tabs or commas, with comment lines and no header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twinloop.formats.table.csv_source import CsvSource
from twinloop.formats.table.dialect import Dialect

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from twinloop.formats.notes import Notes

_BLOCK = 4 << 20
_COMMENT = re.compile(rb"^[ \t]*(?:[#%].*)?\r?\n", re.MULTILINE)
_EDGE = re.compile(rb"^[ \t]+|[ \t\r]+$", re.MULTILINE)
_BETWEEN = re.compile(rb"[ \t]*[,;][ \t]*|[ \t]+")


class SpacedSource(CsvSource):
    """The rows of such a file under names that the format gives its columns."""

    def __init__(self, path: Path, columns: Sequence[str], notes: Notes) -> None:
        super().__init__(path, Dialect(" ", tuple(columns), 0, 0), notes)

    def _blocks(self, size: int = _BLOCK) -> Iterator[bytes]:
        for block in super()._blocks(size):
            if rows := tidy(block):
                yield rows

    def _as_text(
        self, block: bytes, types: dict[str, pa.DataType], bad: Counter[str], row: int | None
    ) -> tuple[pa.Table, int]:
        return super()._as_text(tidy(block), types, bad, row)

    def _count_rows(self) -> int:
        return sum(block.count(b"\n") for block in self._blocks())


def tidy(block: bytes) -> bytes:
    """Whole lines with one blank between numbers, without comments and empty lines."""
    return _BETWEEN.sub(b" ", _EDGE.sub(b"", _COMMENT.sub(b"", block)))


def first_rows(head: bytes, most: int = 8) -> list[list[float]] | None:
    """The numbers of the first lines of a file that starts with `head`; None where any is no number.

    A last line that may be cut off by the end of `head` is left out, unless it is the only one.
    """
    whole = head if len(head) < 4096 else head[: head.rfind(b"\n") + 1]
    lines = tidy(whole + b"\n").splitlines()[:most]
    try:
        return [[float(cell) for cell in line.split(b" ")] for line in lines]
    except ValueError:
        return None
