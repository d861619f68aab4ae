"""Feather files (Arrow IPC): columns of a file that may be damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from twinloop.core.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAGIC = b"ARROW1"
#: What pyarrow raises on a file that is cut off or damaged.
_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, MemoryError, OverflowError)
#: A larger file is not read in one piece.
_MOST_BYTES = 1 << 30


def is_feather(path: Path) -> bool:
    """Whether a file starts as a Feather file of version 2."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_feather(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Some columns (None: all) of a file, validated.

    Raises:
        UnreadableError: the file is missing or damaged, or has not all of the columns.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UnreadableError("the Feather file is too large", where=str(path), expected="at most 1 GiB")
        data = pa.BufferReader(path.read_bytes())
        schema = pa.ipc.open_file(data).schema
        missing = [name for name in columns or () if name not in schema.names]
        if missing:
            raise UnreadableError(
                f"the Feather file has no column {', '.join(missing)}",
                where=str(path),
                expected=", ".join(schema.names),
            )
        wanted = [schema.get_field_index(name) for name in columns or schema.names]
        options = pa.ipc.IpcReadOptions(included_fields=sorted(wanted), use_threads=False)
        table = pa.ipc.open_file(data, options=options).read_all()
        table.validate(full=True)
    except _ERRORS as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableError(f"the Feather file does not read: {said}", where=str(path)) from None
    return table.select(list(columns)) if columns else table
