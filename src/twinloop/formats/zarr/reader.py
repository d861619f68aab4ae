"""The reader `zarr`: opens a store by the metadata of its arrays and the ends of its episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twinloop.core.errors import MissingExtraError, UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from twinloop.core.recording import Recording
    from twinloop.formats.notes import Notes
    from twinloop.formats.reader import ReadOptions
    from twinloop.formats.steps.arrays import Array
    from twinloop.formats.zarr.recording import ArrayStream

_ENDS = "meta/episode_ends"
_MOST_EPISODES = 10_000_000


class ZarrReader:
    """Zarr in the layout of diffusion policy and UMI: a folder or a .zip."""

    name = "zarr"
    title = "Zarr (diffusion policy, UMI; v2 and v3, folder or .zip)"
    keeps = "every array of one row a step, cut by episode_ends; timestamps where they are there"
    loses = "capture times where there are none (stamps are a grid); arrays whose codec is not installed"
    extra: str | None = "zarr"

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder with meta/episode_ends of Zarr; a .zip whose first entry and directory say so."""
        from twinloop.formats.zarr.chunks import ENDS, zip_prefix

        try:
            if not head:
                return any((path / name).is_file() for name in ENDS)
            return _begins_store(head) and zip_prefix(path) is not None
        except OSError:
            return False

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002  (nothing to say)
        """Read the arrays' metadata, count their chunks, read meta/episode_ends and the times of the steps.

        Raises:
            MissingExtraError: zarr is not installed.
            UnreadableError: it is no store, or its episode_ends cannot be read.
        """
        try:
            import zarr  # noqa: F401
        except ImportError:
            raise MissingExtraError("zarr", "zarr", "Zarr") from None
        from twinloop.formats.beside.folder import read_beside
        from twinloop.formats.beside.tell import tell
        from twinloop.formats.notes import Notes
        from twinloop.formats.zarr.recording import ZarrRecording
        from twinloop.formats.zarr.steps import steps_of
        from twinloop.formats.zarr.store import attributes_of, open_group, readable, stored_arrays
        from twinloop.formats.zarr.written import written_of

        notes = Notes()
        stored = stored_arrays(path)
        with open_group(path) as group:
            found = {key: readable(group, key, chunks, path, notes) for key, chunks in stored.items()}
            arrays = {key: array for key, array in found.items() if array is not None}
            rows = max((array.rows for key, array in arrays.items() if key.startswith("data/")), default=0)
            ends = _episode_ends(group, arrays, rows, path, notes)
            written = written_of(group, len(ends))
            grid, told = steps_of(group, arrays, ends, written, path, notes)
            metadata = attributes_of(group)
        streams = _streams({key: array for key, array in arrays.items() if key != told}, notes, path)
        if not streams:
            raise UnreadableError("no array of the Zarr store can be read", where=str(path))
        _note_lengths(streams, int(ends[-1]) if len(ends) else 0, path, notes)
        recording = ZarrRecording(
            path,
            arrays=streams,
            ends=ends,
            grid=grid,
            written=written,
            files=(path,) if path.is_file() else tuple(sorted(p for p in path.rglob("*") if p.is_file())),
            metadata=metadata,
            notes=notes,
        )
        beside = path / "twinloop" if path.is_dir() else path.with_name(f"{path.name}.twinloop")
        tell(recording, read_beside(beside, grid.lengths, notes))
        return recording


def _begins_store(head: bytes) -> bool:
    """Whether the first entry of a .zip is named as one of a store."""
    if not head.startswith(b"PK\x03\x04"):
        return False
    length = int.from_bytes(head[26:28], "little")
    parts = head[30 : 30 + length].decode("utf-8", "replace").split("/")
    names = {".zgroup", ".zattrs", ".zarray", ".zmetadata", "zarr.json", "data", "meta"}
    return bool(names & set(parts)) or (len(parts) == 2 and parts[0].endswith(".zarr"))


def _episode_ends(
    group: Any, arrays: dict[str, Array], rows: int, path: Path, notes: Notes
) -> NDArray[np.int64]:
    """Where each episode ends, as far as the rows reach.

    Raises:
        UnreadableError: they cannot be read.
    """
    import numpy as np

    from twinloop.core.errors import Where
    from twinloop.core.recording import Problem

    array = arrays.get(_ENDS)
    if array is None or array.dtype.kind not in "iu" or len(array.shape) != 1 or array.rows > _MOST_EPISODES:
        raise UnreadableError("meta/episode_ends cannot be read", where=str(path), expected="whole numbers")
    try:
        ends = np.asarray(group[_ENDS][:]).astype(np.int64)
    except Exception as error:  # codecs raise whatever they meet
        raise UnreadableError(f"meta/episode_ends cannot be read: {error}", where=str(path)) from error
    where = Where(file=str(path), stream=_ENDS)
    sound = np.diff(ends, prepend=0) >= 0
    if not sound.all():
        place = int(np.argmin(sound))
        notes.add(
            Problem.BAD_VALUE, f"episode {place} ends at row {ends[place]}, before it begins", where, None
        )
        ends = ends[:place]
    if len(ends) and ends[-1] > rows:
        notes.add(
            Problem.COUNT, f"episodes end at row {ends[-1]}, there are {rows}", where, int(ends[-1]) - rows
        )
        ends = np.unique(np.minimum(ends, rows))
    first = int(ends[-1]) if len(ends) else 0
    if first < rows:
        notes.add(Problem.COUNT, f"rows {first} to {rows} belong to no episode; they are taken as one", where)
        ends = np.append(ends, rows)
    return ends


def _streams(arrays: dict[str, Array], notes: Notes, path: Path) -> dict[str, ArrayStream]:
    from twinloop.core.errors import Where
    from twinloop.core.kinds import Kind
    from twinloop.core.recording import Problem
    from twinloop.formats.steps.decode import decoder_for
    from twinloop.formats.steps.names import distinct, stream_name
    from twinloop.formats.zarr.chunks import OWN_FEATURES, ROW_NS
    from twinloop.formats.zarr.recording import ArrayStream

    streams: dict[str, ArrayStream] = {}
    for key, array in arrays.items():
        if key.startswith("meta/") or key == ROW_NS:
            continue
        decoder = decoder_for(array, key)
        if decoder is None:
            where = Where(file=str(path), stream=key)
            notes.add(Problem.SCHEMA, f"an array of {array.dtype} and shape {array.shape} is not read", where)
            continue
        own = key.removeprefix("data/").removeprefix(f"{OWN_FEATURES}/")
        action = own.split("_")[0] in ("action", "actions")
        picture = decoder.kind in (Kind.IMAGE, Kind.DEPTH)
        bare = action or key.startswith(OWN_FEATURES)
        name = distinct(stream_name(own if bare else f"observation/{own}", picture=picture), set(streams))
        streams[name] = ArrayStream(array, decoder)
    return streams


def _note_lengths(streams: dict[str, ArrayStream], rows: int, path: Path, notes: Notes) -> None:
    from twinloop.core.errors import Where
    from twinloop.core.recording import Problem

    for name, one in streams.items():
        if one.array.rows < rows:
            notes.add(
                Problem.COUNT,
                f"{one.array.path} has {one.array.rows} rows, the episodes {rows}",
                Where(file=str(path), stream=name),
                rows - one.array.rows,
            )


READER = ZarrReader()
