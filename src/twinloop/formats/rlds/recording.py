"""A dataset in RLDS as one recording: one pass over its files gives all streams."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.core.stream import Batch, Payload
from twinloop.formats.rlds.example import BrokenExampleError, example_fields
from twinloop.formats.rlds.streams import STEP_TABLE
from twinloop.formats.rlds.tfrecord import open_bytes, read_record
from twinloop.formats.rlds.values import Record, Values, one_a_step, values_of
from twinloop.formats.steps.recording import StepRecording
from twinloop.formats.steps.room import Room

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.stream import Stream
    from twinloop.formats.notes import Notes
    from twinloop.formats.rlds.episodes import Episode
    from twinloop.formats.rlds.features import Leaf
    from twinloop.formats.rlds.tfrecord import InflatedBytes, PlainBytes
    from twinloop.formats.steps.grid import StepGrid

#: Rows given at a time.
_BATCH_ROWS = 4096


class RldsRecording(StepRecording):
    """See the package's page for what the times are, `formats.steps` for names."""

    def __init__(
        self,
        path: Path,
        *,
        episodes: Sequence[Episode],
        grid: StepGrid,
        leaves: Mapping[str, tuple[Leaf, ...]],
        streams: Mapping[str, Stream],
        files: tuple[Path, ...],
        metadata: Mapping[str, str],
        verify: bool,
        notes: Notes,
    ) -> None:
        super().__init__(
            path,
            "rlds",
            files=files,
            streams=streams,
            episodes=tuple(
                grid.span(number, instruction=one.instruction, outcome=one.outcome, attributes=_attributes(one))
                for number, one in enumerate(episodes)
            ),
            metadata=metadata,
            notes=notes.all,
        )
        self._episodes = episodes
        self._grid = grid
        self._leaves = leaves
        self._verify = verify
        self._sound: set[int] = set()
        self._note = notes

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        names = self.check_names(streams)
        wanted = [
            number
            for number in range(len(self._episodes) if names else 0)
            if self._grid.within(number, start_ns, end_ns) or self._grid.begins_within(number, start_ns, end_ns)
        ]
        for file, numbers in groupby(wanted, key=lambda number: self._episodes[number].file):
            try:
                data = open_bytes(file)
            except OSError as error:
                self._note.add(
                    Problem.CORRUPT,
                    f"the system refuses to read it: {error.strerror}",
                    Where(file=str(file)),
                    None,
                )
                continue
            try:
                room = Room()
                for number in numbers:
                    record = self._record(data, number, room)
                    if record is not None:
                        stamps = self._grid.stamps(number, range(max(1, self._episodes[number].steps)))
                        for name in names:
                            yield from self._batches(name, number, record, stamps, start_ns, end_ns, payload)
            finally:
                data.close()

    def _record(self, data: PlainBytes | InflatedBytes, number: int, room: Room) -> Record | None:
        episode = self._episodes[number]
        verify = self._verify and number not in self._sound
        whole = read_record(data, episode.frame, episode.file, self._note, room, episode.steps, verify=verify)
        if whole is None:
            return None
        self._sound.add(number)
        try:
            return Record(whole, example_fields(lambda at, size: bytes(whole[at : at + size]), len(whole)))
        except (BrokenExampleError, IndexError) as error:
            self._broken(number, None, error)
            return None

    def _batches(
        self,
        name: str,
        number: int,
        record: Record,
        stamps: NDArray[np.int64],
        start_ns: int | None,
        end_ns: int | None,
        payload: bool,
    ) -> Iterator[Batch]:
        """The samples of one stream in one episode, whose steps are at `stamps`."""
        leaves = self._leaves[name]
        per_step = leaves[0].per_step
        if per_step:
            steps = self._grid.within(number, start_ns, end_ns)
        else:
            steps = range(1 if self._grid.begins_within(number, start_ns, end_ns) else 0)
        values = self._values(name, leaves, number, record) if steps else None
        if values is None:
            return
        first, last = steps.start, steps.stop
        if values.row is not None:  # several samples a step, or none
            stamps = stamps[values.row]
            first, last = np.searchsorted(values.row, [first, last]).tolist()
        for at in range(first, last, _BATCH_ROWS):
            end = min(at + _BATCH_ROWS, last)
            columns = self.named(name, values.columns)
            parts = columns.values() if end - at == values.count else [c[at:end] for c in columns.values()]
            made = pa.RecordBatch.from_arrays([pa.array(stamps[at:end]), *parts], ["stamp_ns", *columns])
            bulk = values.payload if payload else None
            if bulk is not None:
                bulk = Payload(bulk.buffer, bulk.offset[at:end], bulk.length[at:end])
            yield Batch(name, made, bulk)

    def _values(self, name: str, leaves: tuple[Leaf, ...], number: int, record: Record) -> Values | None:
        rows = self._episodes[number].steps if leaves[0].per_step else 1
        try:
            if name == STEP_TABLE:
                return Values({leaf.path: one_a_step(leaf, record, rows) for leaf in leaves}, rows)
            return values_of(leaves[0], record, rows)
        except KeyError:
            return None  # the episode has no such key: counted at opening
        except (BrokenExampleError, IndexError, TypeError, ValueError, pa.ArrowException) as error:
            self._broken(number, name, error)
            return None

    def _broken(self, number: int, stream: str | None, error: Exception) -> None:
        episode = self._episodes[number]
        self._note.add(
            Problem.UNDECODABLE,
            f"record {episode.record} of {episode.steps} steps: {error}",
            Where(file=str(episode.file), stream=stream, byte=episode.frame.start),
            episode.steps,
        )


def _attributes(episode: Episode) -> dict[str, str]:
    placed = {"file": episode.file.name, "record": str(episode.record)}
    return {**episode.attributes, **({"split": episode.split} if episode.split else {}), **placed}
