"""The groups and datasets of an HDF5 file that are safe to read, and why others are not."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from contextlib import contextmanager
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.steps.arrays import Array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import h5py

    from twinloop.formats.notes import Notes

#: What h5py raises on damage.
H5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, IndexError, OverflowError, MemoryError)

#: Filters that come with HDF5 and h5py: deflate, shuffle, fletcher32, szip, nbit, scaleoffset, lzf.
_FILTERS = frozenset({1, 2, 3, 4, 5, 6, 32000})
_DEEPEST, _MOST_OBJECTS, _MOST_HOPS = 32, 500_000, 8
#: A chunk is unpacked whole: at most so many bytes, and no more than deflate can make of the file.
_MOST_CHUNK, _MOST_RATIO = 1 << 30, 1032
#: Attributes of more text or numbers are named by their size only.
_LONG_TEXT, _MANY = 4096, 64
_MOST_ATTRIBUTE = 16 << 20
_CACHE = 32 << 20


@contextmanager
def open_file(path: Path) -> Iterator[h5py.File]:
    """The file, open for reading.

    Raises:
        UnreadableError: it does not open.
    """
    import h5py

    try:
        file = h5py.File(path, "r", locking=False, rdcc_nbytes=_CACHE)
    except H5_ERRORS as error:
        raise UnreadableError(
            f"the HDF5 file does not open: {error}",
            where=str(path),
            expected="a file that was closed after writing",
            fix="a file that was cut off while it was written or copied does not open; fetch it again",
        ) from error
    try:
        yield file
    finally:
        file.close()


class Tree:
    """What is in a file. `arrays` by path without the leading ``/``; `groups` in the file's order."""

    def __init__(self, file: h5py.File, path: Path, notes: Notes) -> None:
        self.path = path
        self.arrays: dict[str, Array] = {}
        self.groups: list[str] = [""]
        self._file = file
        self._size = path.stat().st_size
        self._notes = notes
        self._seen: set[int] = set()
        self._walk(file, "", 0)
        self._sorted = sorted(self.arrays)

    def children(self, group: str) -> list[str]:
        """The arrays below a group, their paths relative to it."""
        prefix = f"{group}/" if group else ""
        first = bisect_left(self._sorted, prefix)
        below = takewhile(lambda path: path.startswith(prefix), islice(self._sorted, first, None))
        return [path.removeprefix(prefix) for path in below]

    def attributes(self, path: str) -> dict[str, Any]:
        """The attributes of a group or dataset: texts, numbers, or lists of them."""
        found: dict[str, Any] = {}
        try:
            owner = self._file[path or "/"].attrs
            for name in owner:
                value = self._attribute(owner, name)
                if value is not None:
                    found[str(name)] = value
        except H5_ERRORS as error:
            self._note(path, f"its attributes cannot be read: {error}")
        return found

    def text(self, path: str) -> str | None:
        """The text of a dataset that holds one, or of the first of several."""
        array = self.arrays.get(path)
        if array is None or not array.is_text or math.prod(array.shape) < 1:
            return None
        try:
            value = self._file[path][(0,) * len(array.shape)] if array.shape else self._file[path][()]
        except H5_ERRORS:
            return None
        return _plain(value) if isinstance(value, bytes | str) else None

    def texts(self, path: str) -> list[str]:
        """The texts of a dataset of one dimension."""
        array = self.arrays.get(path)
        if array is None or not array.is_text or len(array.shape) != 1:
            return []
        try:
            return [str(_plain(value)) for value in self._file[path][:]]
        except H5_ERRORS:
            return []

    def _attribute(self, owner: Any, name: str) -> Any:
        import h5py

        described = owner.get_id(name)
        if math.prod(described.shape or ()) * described.dtype.itemsize > min(self._size, _MOST_ATTRIBUTE):
            return None
        value = owner[name]
        return None if isinstance(value, h5py.Empty | h5py.Reference) else _plain(value)

    def _walk(self, group: Any, path: str, depth: int) -> None:
        import h5py

        address = h5py.h5o.get_info(group.id).addr
        if address in self._seen or depth > _DEEPEST:
            return
        self._seen.add(address)
        try:
            names = list(group)
        except H5_ERRORS as error:
            self._note(path, f"the group cannot be listed: {error}", None)
            return
        for name in names:
            if len(self.arrays) + len(self.groups) > _MOST_OBJECTS:
                self._note(path, f"more than {_MOST_OBJECTS} objects; the rest is passed over", None)
                return
            below = f"{path}/{name}" if path else str(name)
            try:
                found = self._linked(group, name, 0)
                if isinstance(found, h5py.Group):
                    self.groups.append(below)
                    self._walk(found, below, depth + 1)
                elif isinstance(found, h5py.Dataset):
                    self._take(found, below)
            except _RefusedError as refused:
                self._note(below, f"{refused}; it is not read")
            except H5_ERRORS as error:
                self._note(below, f"cannot be opened: {error}", None)

    def _linked(self, group: Any, name: str, hops: int) -> Any:
        """The object of a name, without ever leaving the file."""
        import h5py

        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise _RefusedError(f"a link to another file, {link.filename}")
        if not isinstance(link, h5py.SoftLink):
            return group[name]
        if hops >= _MOST_HOPS:
            raise _RefusedError(f"a link through more than {_MOST_HOPS} others")
        found = self._file if link.path.startswith("/") else group
        for part in link.path.split("/"):
            if part in ("", "."):
                continue
            if not isinstance(found, h5py.Group) or part not in found:
                raise _RefusedError(f"a link to {link.path}, which is not there")
            found = self._linked(found, part, hops + 1)
        return found

    def _take(self, dataset: Any, path: str) -> None:
        refused = self._refusal(dataset)
        if refused:
            self._note(path, f"{refused}; it is not read", dataset.shape[0] if dataset.shape else None)
            return
        if dataset.shape is not None:
            if dataset.chunks and (missing := _unwritten(dataset)):
                self._note(path, f"{missing} of its chunks were never written: fill values stand there", None)
            rows = dataset.chunks[0] if dataset.chunks else 0
            stored = dataset.id.get_storage_size()
            self.arrays[path] = Array(path, tuple(dataset.shape), dataset.dtype, rows, stored)

    def _refusal(self, dataset: Any) -> str:
        """Why a dataset is not read; empty: it is."""
        import h5py

        if dataset.dtype.kind == "V" and dataset.dtype.names:
            return "its values are records of several fields"
        if dataset.dtype.kind == "O" and h5py.check_string_dtype(dataset.dtype) is None:
            base = h5py.check_vlen_dtype(dataset.dtype)
            if base is None or base != np.uint8:
                return f"its values are of type {dataset.dtype}"
        plan = dataset.id.get_create_plist()
        if dataset.is_virtual:
            return "a virtual dataset: its values lie in other files"
        if plan.get_external_count():
            return "its values lie in other files"
        unknown = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
        unknown = [code for code in unknown if code not in _FILTERS]
        if unknown:
            return f"its filter {unknown[0]} needs a plug-in of HDF5"
        return self._wrong_size(dataset)

    def _wrong_size(self, dataset: Any) -> str:
        """What its declared shape wants and the file cannot hold; empty: it fits."""
        size, shape = dataset.dtype.itemsize, dataset.shape
        if not shape or not math.prod(shape):
            return ""
        total = math.prod(shape) * size
        if dataset.chunks is None:
            stored = dataset.id.get_storage_size()
            if total > self._size:
                return f"its shape {shape} wants {total} bytes, the file has {self._size}"
            return f"{stored} of its {total} bytes were written" if stored < total else ""
        chunk = math.prod(dataset.chunks) * size
        if chunk > min(_MOST_CHUNK, self._size * _MOST_RATIO):
            return f"its chunks of {chunk} bytes are more than the file can hold"
        wanted = math.prod(-(-n // c) for n, c in zip(shape, dataset.chunks, strict=True))
        if wanted > self._size:  # each chunk takes more than a byte
            return f"its shape {shape} wants {wanted} chunks, more than the file can hold"
        written = dataset.id.get_num_chunks()
        return f"{written} of its {wanted} chunks were written" if wanted > 64 * written else ""

    def _note(self, path: str, message: str, lost: int | None = 0) -> None:
        self._notes.add(Problem.CORRUPT, message, Where(file=str(self.path), stream=path or "/"), lost)


def _unwritten(dataset: Any) -> int:
    """How many chunks of a dataset are not there."""
    wanted = math.prod(-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True))
    return max(0, wanted - int(dataset.id.get_num_chunks()))


class _RefusedError(Exception):
    """A link that is not followed."""


def flat_attributes(values: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Attributes as texts; long ones are named by their size."""
    flat = {}
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value)
        flat[prefix + name] = text if len(text) <= _LONG_TEXT else f"{len(text)} characters, in the file"
    return flat


def _plain(value: Any) -> Any:
    """A value of an attribute as text, number or list."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.reshape(-1)[:_MANY].tolist()]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return value if isinstance(value, str | int | float | bool) else None
