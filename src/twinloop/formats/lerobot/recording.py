"""A LeRobot dataset as one recording: one pass over its parquet files gives all streams."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem, Recording
from twinloop.core.stream import Batch, Payload
from twinloop.formats.lerobot.columns import constant, number_columns, plain, text_column
from twinloop.formats.lerobot.images import VideoRows, file_payload, picture_payload
from twinloop.formats.lerobot.language import PersistentLanguage, TaskWords, event_columns, is_statements
from twinloop.formats.lerobot.rows import Bases, Rows, rows_of_batch
from twinloop.formats.lerobot.streams import ROWS, TASK
from twinloop.formats.notes import some
from twinloop.formats.parquet import PARQUET_ERRORS, row_groups

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from twinloop.core.stream import Stream
    from twinloop.formats.lerobot.entry import EpisodeEntry
    from twinloop.formats.lerobot.info import FeatureInfo
    from twinloop.formats.notes import Notes

#: Rows decoded at a time; of embedded pictures fewer, because each is tens of kilobytes.
_BATCH_ROWS, _PICTURE_ROWS = 16_384, 64
_PLACING = ("timestamp", "frame_index", "episode_index")


class LeRobotRecording(Recording):
    """See the package's page for what the times are."""

    def __init__(
        self,
        root: Path,
        *,
        features: Mapping[str, FeatureInfo],
        episodes: Sequence[EpisodeEntry],
        tasks: dict[int, str],
        fps: float,
        streams: Mapping[str, Stream],
        files: tuple[Path, ...],
        metadata: Mapping[str, str],
        picture_encodings: Mapping[str, str],
        notes: Notes,
    ) -> None:
        super().__init__(
            root,
            "lerobot",
            files=files,
            streams=streams,
            episodes=tuple(episode.span(fps) for episode in episodes),
            metadata=metadata,
            notes=notes.all,
        )
        self._features = features
        self._entries = {episode.index: episode for episode in episodes}
        self._tasks = tasks
        self._fps = fps
        self._note = notes
        self._encodings = picture_encodings
        self._bases = Bases(episodes)
        self._by_file: dict[Path, list[EpisodeEntry]] = defaultdict(list)
        for episode in episodes:
            if episode.data is not None:
                self._by_file[episode.data].append(episode)
        self._videos = {
            name: VideoRows(name, stream.segments, episodes, fps, notes)
            for name, stream in streams.items()
            if stream.segments
        }

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,
    ) -> Iterator[Batch]:
        names = self.check_names(streams)
        words = _Words(self._tasks)
        seen: dict[int, int] = defaultdict(int)
        for path, episodes in self._by_file.items():
            if not any(self._overlaps(episode, start_ns, end_ns) for episode in episodes):
                continue
            for rows in self._rows(path, episodes, names, start_ns, end_ns, payload):
                for number, run in rows.runs():
                    seen[number] += run.stop - run.start
                wanted = rows.between(start_ns, end_ns)
                if not len(wanted):
                    continue
                for name in names:
                    batch = self._batch(name, wanted, words, payload)
                    if batch is not None and len(batch):
                        yield batch
        if start_ns is None and end_ns is None:
            self._note_lengths(seen)

    def _overlaps(self, episode: EpisodeEntry, start_ns: int | None, end_ns: int | None) -> bool:
        """Whether the time span touches the episode (its timestamps may run on past its length a while)."""
        after = end_ns is not None and episode.base_ns >= end_ns
        late_ns = int(1e9 * (episode.length + 2) / self._fps)
        before = start_ns is not None and episode.end_ns(self._fps) + late_ns < start_ns
        return not (after or before)

    def _rows(
        self,
        path: Path,
        episodes: list[EpisodeEntry],
        names: list[str],
        start_ns: int | None,
        end_ns: int | None,
        payload: bool,
    ) -> Iterator[Rows]:
        """The rows of one data file, only the columns that the streams need, batch by batch."""
        import pyarrow.parquet as pq

        declared = sum(episode.length for episode in episodes)
        try:
            file = pq.ParquetFile(path, memory_map=True)
        except PARQUET_ERRORS as error:
            self._note_lost(path, range(declared), error)
            return
        with file:
            there = set(file.schema_arrow.names)
            columns = [column for column in self._columns(names, payload) if column in there]
            pictures = any(self._features[c].dtype == "image" for c in columns if c in self._features)
            size = _PICTURE_ROWS if pictures else _BATCH_ROWS
            alone = episodes[0].index if len(episodes) == 1 and self._is_per_episode(path) else None
            for group, rows in row_groups(file):
                at = rows.start
                try:
                    if not self._group_overlaps(file, group, start_ns, end_ns):
                        continue
                    for batch in file.iter_batches(size, row_groups=[group], columns=columns):
                        yield rows_of_batch(batch, at, path, alone, self._fps, self._bases, self._note)
                        at += batch.num_rows
                except PARQUET_ERRORS as error:
                    self._note_lost(path, range(at, rows.stop), error)

    def _note_lost(self, path: Path, rows: range, error: Exception) -> None:
        self._note.add(
            Problem.CORRUPT,
            f"rows {rows.start} to {rows.stop} of the data file cannot be read: {error}",
            Where(file=str(path), row=rows.start),
            len(rows),
        )

    def _is_per_episode(self, path: Path) -> bool:
        return path.stem.startswith("episode")

    def _columns(self, names: list[str], payload: bool) -> list[str]:
        """The parquet columns behind some streams."""
        columns = dict.fromkeys(_PLACING)
        for name in names:
            if name == ROWS:
                columns.update(dict.fromkeys(n for n, f in self._features.items() if f.is_bookkeeping))
            elif name == TASK:
                columns["task_index"] = None
            elif not self.streams[name].segments and (payload or not self.streams[name].has_payload):
                columns[name] = None
        return list(columns)

    def _group_overlaps(
        self, file: pq.ParquetFile, group: int, start_ns: int | None, end_ns: int | None
    ) -> bool:
        """Whether a row group may hold rows of the span, by the statistics of its episode numbers."""
        if start_ns is None and end_ns is None:
            return True
        position = file.schema_arrow.get_field_index("episode_index")
        leaf = [i for i, c in enumerate(_leaves(file)) if c == "episode_index"]
        statistics = file.metadata.row_group(group).column(leaf[0]).statistics if leaf else None
        if position < 0 or statistics is None or not statistics.has_min_max:
            return True
        inside = (self._entries.get(number) for number in range(statistics.min, statistics.max + 1))
        return any(entry is None or self._overlaps(entry, start_ns, end_ns) for entry in inside)

    def _batch(self, name: str, rows: Rows, words: _Words, payload: bool) -> Batch | None:
        stream = self.streams[name]
        bulk: Payload | None = None
        stamps = {"stamp_ns": pa.array(rows.stamp_ns)}
        if name == ROWS:
            columns = stamps | self._bookkeeping(rows)
        elif name == TASK:
            columns = words.tasks.columns(rows.numbers("task_index"), rows.episode, rows.stamp_ns)
        elif stream.segments:
            columns = stamps | self._video_columns(name, rows)
        elif stream.has_payload:
            columns, bulk = self._pictures(name, rows, payload)
        else:
            column = rows.column(name)
            if column is None:
                return None
            if stream.kind in (Kind.TEXT, Kind.EVENT):
                columns = words.columns(name, stream.kind, column, rows)
            else:
                columns = stamps | number_columns(self._features[name], stream.kind, column)
        return Batch(name, pa.RecordBatch.from_pydict(columns), bulk)

    def _bookkeeping(self, rows: Rows) -> dict[str, pa.Array]:
        columns = {}
        for name, feature in self._features.items():
            column = rows.column(name) if feature.is_bookkeeping else None
            if column is not None:
                columns[name] = plain(column)
        return columns

    def _video_columns(self, name: str, rows: Rows) -> dict[str, pa.Array]:
        stream = self.streams[name]
        segment = np.full(len(rows), -1, np.int32)
        pts = np.zeros(len(rows), np.int64)
        for number, run in rows.runs():
            entry = self._entries.get(number)
            if entry is None:
                continue
            where, found, shown = self._videos[name].place(entry, rows.timestamp_s[run])
            if where is not None:
                segment[run] = np.where(shown, where, -1)
                pts[run] = found
        missing = segment < 0
        size = np.array([(s.width, s.height) for s in stream.segments], np.int32)
        return {
            "frame_id": constant("", len(rows)),
            "width": pa.array(size[np.maximum(segment, 0), 0]),
            "height": pa.array(size[np.maximum(segment, 0), 1]),
            "encoding": constant(stream.segments[0].codec, len(rows)),
            "segment": pa.array(segment, mask=missing),
            "pts": pa.array(pts, mask=missing),
        }

    def _pictures(self, name: str, rows: Rows, payload: bool) -> tuple[dict[str, pa.Array], Payload | None]:
        """Pictures embedded in the data file or kept as files; rows without one are left out and noted."""
        feature = self._features[name]
        stamp = rows.stamp_ns
        bulk: Payload | None = None
        if payload:
            column = rows.column(name)
            if column is not None:
                bulk, held = picture_payload(column, self.path)
            else:
                bulk, held = file_payload(self._picture_files(name, rows))
            if not held.all():
                self._note_blank(name, rows, held)
                bulk = Payload(bulk.buffer, bulk.offset[held], bulk.length[held])
                stamp = stamp[held]
        width, height = feature.picture_size
        columns = {
            "stamp_ns": pa.array(stamp),
            "frame_id": constant("", len(stamp)),
            "width": pa.array(np.full(len(stamp), width, np.int32)),
            "height": pa.array(np.full(len(stamp), height, np.int32)),
            "encoding": constant(self._encodings.get(name, ""), len(stamp)),
        }
        return columns, bulk

    def _picture_files(self, name: str, rows: Rows) -> list[Path]:
        """images/<key>/episode_000000/frame_000000.png (v2) or episode-000000/frame-000000.png (v3)."""
        suffix = {"jpeg": "jpg"}.get(self._encodings.get(name, ""), self._encodings.get(name, "png"))
        folder = self.path / "images" / name
        pairs = zip(rows.episode.tolist(), rows.numbers("frame_index").tolist(), strict=True)
        mark = "_" if (folder / "episode_000000").is_dir() else "-"
        return [folder / f"episode{mark}{e:06d}" / f"frame{mark}{f:06d}.{suffix}" for e, f in pairs]

    def _note_blank(self, name: str, rows: Rows, held: NDArray[np.bool_]) -> None:
        row = int(np.argmin(held))
        self._note.add(
            Problem.COUNT,
            f"{int((~held).sum())} rows of episode {int(rows.episode[row])} have no image",
            Where(stream=name, time_ns=int(rows.stamp_ns[row])),
            int((~held).sum()),
        )

    def _note_lengths(self, seen: Mapping[int, int]) -> None:
        """Note the episodes whose rows are not as many as the metadata says."""
        for path, episodes in self._by_file.items():
            wrong = [e for e in episodes if seen.get(e.index, 0) != e.length]
            if wrong:
                first = wrong[0]
                self._note.add(
                    Problem.COUNT,
                    f"episode {first.index} is listed with {first.length} rows and has "
                    f"{seen.get(first.index, 0)}"
                    + (f"; so do episodes {some([e.index for e in wrong[1:]])}" if len(wrong) > 1 else ""),
                    Where(file=str(path)),
                    sum(max(0, e.length - seen.get(e.index, 0)) for e in wrong),
                )
        strays = sorted(set(seen) - self._bases.known)
        if strays:
            self._note.add(
                Problem.COUNT,
                f"the data holds {sum(seen[n] for n in strays)} rows of episodes that are not listed: "
                f"{some(strays)}; their times come after all others",
                Where(file=str(self.path / "meta")),
            )


class _Words:
    """What was said so far in one scan."""

    def __init__(self, tasks: dict[int, str]) -> None:
        self.tasks = TaskWords(tasks)
        self._persistent: dict[str, PersistentLanguage] = defaultdict(PersistentLanguage)

    def columns(self, name: str, kind: Kind, column: pa.Array, rows: Rows) -> dict[str, Any]:
        if is_statements(column.type):
            if kind is Kind.EVENT:
                return event_columns(column, rows.stamp_ns)
            return self._persistent[name].columns(column, rows.episode, rows.base_ns, rows.stamp_ns)
        text = text_column(column)
        if kind is Kind.EVENT:
            return {"stamp_ns": pa.array(rows.stamp_ns), "name": constant(name, len(rows)), "data": text}
        return {"stamp_ns": pa.array(rows.stamp_ns), "text": text}


def _leaves(file: pq.ParquetFile) -> list[str]:
    return [file.schema.column(i).path for i in range(len(file.schema))]
