"""What an export will do, episode by episode, before any of it is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from twinloop.core.errors import UnknownNameError, UsageError
from twinloop.core.kinds import Kind
from twinloop.deliver.align import Align, pick
from twinloop.deliver.entries import entry_index
from twinloop.deliver.features import samples_around
from twinloop.deliver.images import ImageTable, read_images
from twinloop.deliver.rows import (
    LEAST_ROWS,
    CameraClock,
    FixedClock,
    RowSpan,
    camera_spans,
    fixed_rows,
    mean_interval_ns,
)
from twinloop.deliver.source import is_unrated

#: Far beyond any camera or controller; a slip of the keyboard must not fill memory with rows.
MOST_ROWS_PER_SECOND = 10_000

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from twinloop.core.session import Episode
    from twinloop.deliver.options import RowOptions
    from twinloop.deliver.source import ExportSource


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """One episode of the dataset: an episode of a session, or a part of one between two gaps.

    Attributes:
        part, parts: which part of how many. trimmed: rows left out at the start, where a feature had no
            sample yet. images: camera -> (R,) int64, the place in its image table that each row shows.
    """

    source: ExportSource
    episode: Episode
    part: int
    parts: int
    span: RowSpan
    trimmed: int
    task: str
    images: dict[str, NDArray[np.int64]]

    def __len__(self) -> int:
        return len(self.span.row_ns)

    def camera_facts(self) -> dict[str, dict[str, object]]:
        """camera -> what the account says of it in this episode."""
        return {}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An episode, or a part of one, that does not go into the dataset, and why."""

    session: str
    episode: str
    why: str


P = TypeVar("P", bound=EpisodePlan)


class Planner(ABC, Generic[P]):
    """Plans the episodes of one session; keeps its image tables and packet indexes."""

    def __init__(self, source: ExportSource, options: RowOptions) -> None:
        self.source = source
        self.options = options
        self.tables: dict[str, ImageTable] = {
            feature.name: read_images(source.recording, feature.stream, source.models)
            for feature in source.camera_features()
        }
        self.packets = cache(entry_index)

    def is_depth(self, camera: str) -> bool:
        """Whether a camera's images are depth."""
        return self.tables[camera].stream.kind is Kind.DEPTH

    def chosen(self) -> tuple[list[Episode], list[LeftOut]]:
        """The episodes to export, and those left out."""
        taken, left = [], []
        for episode in self.source.episodes:
            if episode.excluded and not self.options.include_excluded:
                left.append(LeftOut(self.source.session, episode.id, f"excluded: {episode.excluded}"))
            else:
                taken.append(episode)
        return taken, left

    def clock_table(self) -> ImageTable:
        """The images of the camera that the rows follow.

        Raises:
            UnknownNameError: no camera, or more than one, answers to the name.
        """
        clock = self.options.clock
        assert isinstance(clock, CameraClock)
        named = [camera for camera in self.tables if clock.names(camera)]
        if len(named) != 1:
            raise UnknownNameError("camera", clock.camera, self.tables)
        return self.tables[named[0]]

    def rates_hz(self) -> list[float]:
        """The clock camera's rate in each episode that has one."""
        table = self.clock_table()
        rates = []
        for episode in self.chosen()[0]:
            interval = mean_interval_ns(table.times_ns[table.within(episode.start_ns, episode.end_ns)])
            if interval:
                rates.append(1e9 / interval)
        return rates

    def plan(self, fps: int) -> Iterator[P | LeftOut]:
        """The dataset's episodes out of this session, in order, and what is left out."""
        taken, left = self.chosen()
        yield from left
        for episode in taken:
            yield from self._plan_episode(episode, fps)

    def _plan_episode(self, episode: Episode, fps: int) -> Iterator[P | LeftOut]:
        session = self.source.session
        spans = self._spans(episode, fps)
        if not spans:
            yield LeftOut(session, episode.id, "the clock's camera has fewer than two images in it")
        for number, span in enumerate(spans):
            ready_ns, last = self._ready_ns(span)
            rows = span.row_ns[span.row_ns >= ready_ns]
            part = f"part {number + 1} of {len(spans)}: " if len(spans) > 1 else ""
            if len(rows) < LEAST_ROWS:
                why = f"no sample of {last} up to its end" if last else f"only {len(rows)} rows"
                yield LeftOut(session, episode.id, part + why)
                continue
            trimmed = len(span.row_ns) - len(rows)
            yield self._planned(episode, replace(span, row_ns=rows), trimmed, number, len(spans), fps)

    def _spans(self, episode: Episode, fps: int) -> list[RowSpan]:
        if isinstance(self.options.clock, FixedClock):
            rows = fixed_rows(episode.start_ns, min(episode.end_ns, self._last_ns() + 1), fps)
            return [RowSpan(rows)] if len(rows) >= LEAST_ROWS else []
        table = self.clock_table()
        times = table.times_ns[table.within(episode.start_ns, episode.end_ns)]
        if is_unrated(table.stream):  # each step is a row, at whatever rate
            return [RowSpan(np.unique(times))] if len(times) >= LEAST_ROWS else []
        return camera_spans(times, fps, self.options.keep_gaps)

    def _ready_ns(self, span: RowSpan) -> tuple[int, str]:
        """From when on every feature has a sample at or before a row, and the last to come."""
        first, last = int(span.row_ns[0]), int(span.row_ns[-1])
        ready, late = first, ""
        for name, table in self.tables.items():
            start = int(table.times_ns[0]) if len(table) else last + 1
            if start > ready:
                ready, late = start, name
        unsure = tuple(f for f in self.source.number_features() if not self._starts_by(f.stream, first))
        samples = samples_around(self.source, unsure, first, last, Align.LATEST) if unsure else {}
        for name, known in samples.items():
            start = int(known.times_ns.min()) if len(known) else last + 1
            if start > ready:
                ready, late = start, name
        return ready, late

    def _last_ns(self) -> int:
        """The time of the last sample of any feature, as far as the index tells."""
        ends = [int(table.times_ns[-1]) for table in self.tables.values() if len(table)]
        if not self.source.models:
            streams = self.source.recording.streams
            known = (streams[feature.stream].end_ns for feature in self.source.number_features())
            ends += [end for end in known if end is not None]
        return max(ends, default=int(np.iinfo(np.int64).max) - 1)

    def _starts_by(self, stream: str, time_ns: int) -> bool:
        """Whether the index alone tells that a stream has a sample at or before a time."""
        start_ns = self.source.recording.streams[stream].start_ns
        return start_ns is not None and start_ns <= time_ns and not self.source.models

    def _planned(self, episode: Episode, span: RowSpan, trimmed: int, part: int, parts: int, fps: int) -> P:
        shown = EpisodePlan(self.source, episode, part, parts, span, trimmed, self._task(episode), {})
        return self.with_images(shown, fps)

    @abstractmethod
    def with_images(self, plan: EpisodePlan, fps: int) -> P:
        """The plan with what its rows show of each camera."""

    def _task(self, episode: Episode) -> str:
        facts = self.source.facts
        return episode.instruction or self.options.task or episode.facts.task or facts.task or ""


class RowPlanner(Planner[EpisodePlan]):
    """Plans rows of which each shows the image that the alignment names."""

    def with_images(self, plan: EpisodePlan, fps: int) -> EpisodePlan:  # noqa: ARG002  (any rate)
        """The plan with its images."""
        rows, align = plan.span.row_ns, self.options.align
        images = {name: pick(table.times_ns, rows, align) for name, table in self.tables.items()}
        return replace(plan, images=images)


def rows_per_second(planners: Sequence[Planner[P]], options: RowOptions) -> int:
    """The dataset's fps: as asked for, else the clock camera's own rate (median over episodes), rounded.

    Raises:
        UsageError: no camera to take it from, or a rate that is not whole and positive.
    """
    if options.clock.fps is not None:
        fps = options.clock.fps
    else:
        rates = [rate for planner in planners for rate in planner.rates_hz()]
        if not rates:
            raise UsageError(
                "no episode has images of the camera that is to be the clock",
                fix="name another camera, or use --clock fixed --fps N",
            )
        fps = round(float(np.median(rates)))
    if not 1 <= fps <= MOST_ROWS_PER_SECOND:
        raise UsageError(
            f"{fps} rows a second",
            expected=f"a whole number from 1 to {MOST_ROWS_PER_SECOND}",
            fix="give the rate: --fps N",
        )
    return fps
