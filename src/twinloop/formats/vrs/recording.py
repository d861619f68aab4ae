"""A VRS file as a recording, with what machine perception made of it where that lies beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem, Recording
from twinloop.core.timeline import timeline_ns
from twinloop.formats.notes import Notes
from twinloop.formats.vrs.aria import generation
from twinloop.formats.vrs.calibration import calibration_of, metadata_of
from twinloop.formats.vrs.container import DamagedError, Description, VrsFile, read_description
from twinloop.formats.vrs.index import read_index
from twinloop.formats.vrs.loading import load_payloads
from twinloop.formats.vrs.samples import batch_of
from twinloop.formats.vrs.tracks import Track, open_tracks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.core.stream import Batch
    from twinloop.formats.mps.parts import Parts

#: Records of which the index's time is this far outside a window are not read for it.
_MARGIN_S = 60.0


class VrsRecording(Recording):
    """Every stream that the file declares, those without records too; `parts` lie beside the file."""

    def __init__(self, path: Path, file: Path, parts: Parts | None) -> None:
        notes = Notes()
        self._file = VrsFile(file)
        self._note = notes
        self._parts = parts
        try:
            description = self._describe()
            self._index = read_index(self._file, description, notes)
            if not len(self._index.entries) and not description.streams:
                raise UnreadableError(
                    "it holds no record and no description that can be read",
                    where=str(file),
                    expected="a description of the streams and records after it",
                )
            opened = open_tracks(self._file, description, self._index, generation(description.file), notes)
            self._tracks = {name: self._spanned(track) for name, track in opened.tracks.items()}
        except BaseException:
            self._file.close()
            raise
        streams = {name: track.stream for name, track in self._tracks.items()}
        super().__init__(
            path,
            "vrs",
            files=(file, *(parts.files if parts else ())),
            streams=streams | (parts.streams if parts else {}),
            metadata=metadata_of(description.file) | (parts.metadata if parts else {}),
            calibration=calibration_of(description.file, opened.configurations, self._note, str(file))
            | (parts.calibration if parts else {}),
            notes=notes.all,
        )
        if parts:
            parts.hand_notes_to(notes)

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        names = self.check_names(streams)
        tracks = [self._tracks[name] for name in names if name in self._tracks]
        yield from self._scan(tracks, start_ns, end_ns, payload)
        if self._parts:
            rest = [name for name in names if name not in self._tracks]
            yield from self._parts.scan(rest, start_ns, end_ns)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _scan(
        self, tracks: list[Track], start_ns: int | None, end_ns: int | None, payload: bool
    ) -> Iterator[Batch]:
        parts = [self._rows(track, start_ns, end_ns) for track in tracks]
        rows = np.concatenate([np.empty(0, np.int64), *parts])
        owner = np.repeat(np.arange(len(tracks)), [len(part) for part in parts])
        order = np.argsort(rows, kind="stable")
        rows, owner = rows[order], owner[order]
        sizes = self._index.entries["size"][rows].astype(np.int64)
        heads = np.array([_head(track, payload) for track in tracks], np.int64)
        need = np.minimum(sizes, heads[owner]) if len(tracks) else sizes
        for number, payloads in load_payloads(self._file, self._index, rows, need, owner, self._note):
            batch = batch_of(
                tracks[number],
                self._index,
                payloads,
                self._note,
                str(self._file.path),
                start_ns=start_ns,
                end_ns=end_ns,
                bulk=payload,
            )
            if batch is not None:
                yield batch

    def _rows(self, track: Track, start_ns: int | None, end_ns: int | None) -> np.ndarray:
        """The records of a track that can lie in a window: the index's times, where they are the stamps'."""
        if (start_ns is None and end_ns is None) or not self._is_near(track):
            return track.rows
        times = self._index.entries["timestamp"][track.rows]
        keep = np.ones(len(times), np.bool_)
        if start_ns is not None:
            keep &= ~(times < start_ns / 1e9 - _MARGIN_S)
        if end_ns is not None:
            keep &= ~(times > end_ns / 1e9 + _MARGIN_S)
        return track.rows[keep]

    def _is_near(self, track: Track) -> bool:
        """Whether the times of the index are on the timeline of the track, by its first and last sample."""
        if not len(track.rows) or track.stream.start_ns is None or track.stream.end_ns is None:
            return False
        ends = self._index.entries["timestamp"][track.rows[[0, -1]]]
        known = np.array([track.stream.start_ns, track.stream.end_ns]) / 1e9
        return bool((np.abs(ends - known) < 1.0).all())

    def _describe(self) -> Description:
        try:
            return read_description(self._file)
        except DamagedError as error:
            where = error.where if isinstance(error.where, Where) else Where(str(self._file.path))
            message = f"{error.what}; without tags, records are kept as bytes"
            self._note.add(Problem.SCHEMA, message, where)
            return Description()

    def _spanned(self, track: Track) -> Track:
        """The track with the times of its first and last record that can be read."""
        if not len(track.rows):
            return track
        ends = track.rows[[0]] if len(track.rows) == 1 else track.rows[[0, -1]]
        need = np.minimum(self._index.entries["size"][ends].astype(np.int64), _head(track, False))
        quiet = Notes()  # the scan says what is wrong with them
        times: list[int] = []
        for _, payloads in load_payloads(self._file, self._index, ends, need, np.zeros(len(ends), int), quiet):
            batch = batch_of(track, self._index, payloads, quiet, "", bulk=False)
            if batch is not None:
                times += timeline_ns(track.stream, batch.columns).tolist()
        return track.with_span(min(times), max(times)) if times else track


def _head(track: Track, payload: bool) -> int:
    """How many bytes of a record are wanted: all, or those before its bulk bytes."""
    bulk = track.format is None or track.format.bulk is not None
    if payload or not bulk or track.head is None:
        return int(np.iinfo(np.int64).max)
    return track.head
