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
    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.steps.room import Room

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


def read_rows(file: h5py.File, array: Array, start: int, stop: int, room: Room | None = None) -> Any:
    """Rows [start, stop) of a dataset; in `room`, where it is given, until it is used again."""
    from h5py import h5d, h5s

    if array.dtype.kind == "O":
        return file[array.path][start:stop]
    dataset = h5d.open(file.id, array.path.encode("utf-8", "surrogateescape"))
    if dataset.shape != array.shape or dataset.dtype != array.dtype:
        raise ValueError("the dataset is another than when the file was opened")
    shape = (stop - start, *array.shape[1:])
    if room is None:
        rows = np.empty(shape, array.dtype)
    else:
        size = math.prod(shape) * array.dtype.itemsize
        rows = np.frombuffer(room.of(size), array.dtype).reshape(shape)
    space = dataset.get_space()
    space.select_hyperslab((start, *(0,) * (len(array.shape) - 1)), rows.shape)
    dataset.read(h5s.create_simple(rows.shape), space, rows)
    return rows


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
        self._walk(file["/"].id, "", 0)
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

    def whole_numbers(self, path: str) -> NDArray[np.int64] | None:
        """The numbers (N,) of a dataset of one whole number a row; None: it is none, or cannot be read."""
        array = self.arrays.get(path)
        if array is None or array.dtype.kind not in "iu" or array.shape[1:] not in ((), (1,)):
            return None
        try:
            return np.asarray(self._file[path][:]).reshape(-1).astype(np.int64)
        except H5_ERRORS:
            return None

    def _attribute(self, owner: Any, name: str) -> Any:
        import h5py

        described = owner.get_id(name)
        if math.prod(described.shape or ()) * described.dtype.itemsize > min(self._size, _MOST_ATTRIBUTE):
            return None
        value = owner[name]
        return None if isinstance(value, h5py.Empty | h5py.Reference) else _plain(value)

    def _walk(self, group: h5py.h5g.GroupID, path: str, depth: int) -> None:
        from h5py import h5d, h5g, h5o

        address = h5o.get_info(group).addr
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
            text = name.decode("utf-8", "surrogateescape")
            below = f"{path}/{text}" if path else text
            try:
                found = self._linked(group, name, 0)
                if isinstance(found, h5g.GroupID):
                    self.groups.append(below)
                    self._walk(found, below, depth + 1)
                elif isinstance(found, h5d.DatasetID):
                    self._take(found, below)
            except _RefusedError as refused:
                self._note(below, f"{refused}; it is not read")
            except H5_ERRORS as error:
                self._note(below, f"cannot be opened: {error}", None)

    def _linked(self, group: h5py.h5g.GroupID, name: bytes, hops: int) -> Any:
        """The object of a name, without ever leaving the file."""
        from h5py import h5g, h5l, h5o

        kind = group.links.get_info(name).type
        if kind == h5l.TYPE_HARD:
            return h5o.open(group, name)
        if kind != h5l.TYPE_SOFT:
            raise _RefusedError("a link to another file")
        if hops >= _MOST_HOPS:
            raise _RefusedError(f"a link through more than {_MOST_HOPS} others")
        target = group.links.get_val(name)
        found = self._file["/"].id if target.startswith(b"/") else group
        for part in target.split(b"/"):
            if part in (b"", b"."):
                continue
            if not isinstance(found, h5g.GroupID) or not found.links.exists(part):
                raise _RefusedError(f"a link to {target.decode('utf-8', 'replace')}, which is not there")
            found = self._linked(found, part, hops + 1)
        return found

    def _take(self, dataset: h5py.h5d.DatasetID, path: str) -> None:
        from h5py import h5d

        shape, dtype, chunk, refused = dataset.shape, dataset.dtype, None, ""
        # What has one place in the file is neither chunked, filtered, virtual nor elsewhere.
        if dataset.get_offset() is None or dtype.kind not in "biuf":
            plan = dataset.get_create_plist()
            chunk = plan.get_chunk() if plan.get_layout() == h5d.CHUNKED else None
            refused = _why_not(plan, dtype)
        refused = refused or self._wrong_size(dataset, shape, chunk, dtype.itemsize)
        if refused:
            self._note(path, f"{refused}; it is not read", shape[0] if shape else None)
            return
        stored = dataset.get_storage_size()
        self.arrays[path] = Array(path, tuple(shape), dtype, chunk[0] if chunk else 0, stored)
        if chunk and (missing := _chunks(shape, chunk) - dataset.get_num_chunks()) > 0:
            self._note(path, f"{missing} of its chunks were never written: fill values stand there", None)

    def _wrong_size(
        self, dataset: h5py.h5d.DatasetID, shape: tuple[int, ...], chunk: tuple[int, ...] | None, size: int
    ) -> str:
        """What its declared shape wants and the file cannot hold; empty: it fits."""
        total = math.prod(shape) * size
        if not shape or not total:
            return ""
        if chunk is None:
            if total > self._size:
                return f"its shape {shape} wants {total} bytes, the file has {self._size}"
            stored = dataset.get_storage_size()
            return f"{stored} of its {total} bytes were written" if stored < total else ""
        unpacked = math.prod(chunk) * size
        if unpacked > min(_MOST_CHUNK, self._size * _MOST_RATIO):
            return f"its chunks of {unpacked} bytes are more than the file can hold"
        wanted, written = _chunks(shape, chunk), dataset.get_num_chunks()
        if wanted > self._size:  # each chunk takes more than a byte
            return f"its shape {shape} wants {wanted} chunks, more than the file can hold"
        return f"{written} of its {wanted} chunks were written" if wanted > 64 * written else ""

    def _note(self, path: str, message: str, lost: int | None = 0) -> None:
        self._notes.add(Problem.CORRUPT, message, Where(file=str(self.path), stream=path or "/"), lost)


def _why_not(plan: h5py.h5p.PropDCID, dtype: np.dtype[Any]) -> str:
    """Why values are not read, by how they are kept; empty: they are."""
    import h5py

    if dtype.kind == "V" and dtype.names:
        return "its values are records of several fields"
    if dtype.kind == "O" and h5py.check_string_dtype(dtype) is None:
        base = h5py.check_vlen_dtype(dtype)
        if base is None or base != np.uint8:
            return f"its values are of type {dtype}"
    if plan.get_layout() == h5py.h5d.VIRTUAL:
        return "a virtual dataset: its values lie in other files"
    if plan.get_external_count():
        return "its values lie in other files"
    unknown = [code for k in range(plan.get_nfilters()) if (code := plan.get_filter(k)[0]) not in _FILTERS]
    return f"its filter {unknown[0]} needs a plug-in of HDF5" if unknown else ""


def _chunks(shape: tuple[int, ...], chunk: tuple[int, ...]) -> int:
    """How many chunks a dataset has when all are written."""
    return math.prod(-(-n // c) for n, c in zip(shape, chunk, strict=True))


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
