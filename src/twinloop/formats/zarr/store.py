"""A Zarr store, open for reading, and the arrays of it that can be read."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.steps.arrays import Array
from twinloop.formats.zarr.chunks import (
    ZIP_ERRORS,
    Stored,
    stored_in_folder,
    stored_in_zip,
    wrong_size,
    zip_prefix,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.formats.notes import Notes


@contextmanager
def open_group(path: Path) -> Iterator[Any]:
    """The group that holds ``data`` and ``meta``.

    Raises:
        UnreadableError: it is no Zarr store.
    """
    import zarr
    from zarr.storage import LocalStore, ZipStore

    prefix = "" if path.is_dir() else zip_prefix(path)
    store = None
    try:
        store = LocalStore(path, read_only=True) if path.is_dir() else ZipStore(path, mode="r", read_only=True)
        group = zarr.open_group(store, path=(prefix or "").rstrip("/"), mode="r", use_consolidated=False)
    except Exception as error:  # zarr and its stores raise whatever they meet
        if store is not None:
            store.close()
        raise UnreadableError(
            f"the Zarr store does not open: {error}", where=str(path), expected="zarr.json or .zgroup"
        ) from error
    try:
        yield group
    finally:
        store.close()


def stored_arrays(path: Path) -> dict[str, Stored]:
    """The arrays that are looked at, by path, with the chunks that are there.

    Raises:
        UnreadableError: the .zip is damaged, or the folder cannot be listed.
    """
    try:
        return stored_in_folder(path) if path.is_dir() else stored_in_zip(path, zip_prefix(path) or "")
    except ZIP_ERRORS as error:
        raise UnreadableError(f"the Zarr store cannot be listed: {error}", where=str(path)) from error


def readable(group: Any, key: str, stored: Stored, path: Path, notes: Notes) -> Array | None:
    """What is known of an array; None, with a note, where it cannot be read."""
    where = Where(file=str(path), stream=key)
    if stored.refused:
        notes.add(Problem.CORRUPT, f"{stored.refused}; it is not read", where, None)
        return None
    try:
        found = group[key]
        shape, dtype = tuple(found.shape), np.dtype(found.dtype)
        chunk = tuple(found.shards or found.chunks)
    except Exception as error:  # a codec that is not installed, damaged metadata...
        missing = "codec" in f"{type(error).__name__} {error}".lower()
        hint = ": install what brings the codec, for JPEG XL imagecodecs" if missing else ""
        notes.add(Problem.UNDECODABLE, f"the array does not open: {error}{hint}", where, None)
        return None
    if not shape or dtype.kind not in "biufSU":
        notes.add(Problem.SCHEMA, f"an array of {dtype} and shape {shape} is not read", where)
        return None
    wrong = wrong_size(shape, chunk, dtype.itemsize, stored)
    if wrong:
        notes.add(Problem.COUNT, f"{wrong}; it is not read", where, shape[0])
        return None
    return Array(key, shape, dtype, chunk[0], stored.bytes)


def attributes_of(group: Any) -> dict[str, str]:
    """The attributes of the store, as texts."""
    try:
        found = dict(group.attrs)
    except Exception:  # whatever damaged JSON makes of itself
        return {}
    return {str(k): v if isinstance(v, str) else json.dumps(v, default=str) for k, v in found.items()}
