"""Cutting a recording into episodes, as its mapping says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import MappingError
from twinloop.core.kinds import PAYLOAD_KINDS, Kind, Role
from twinloop.core.mapping import Cut, Feature, Mapping
from twinloop.core.recording import EpisodeSpan
from twinloop.core.timeline import timeline_ns
from twinloop.formats.mapping.extent import extent, require_stream, stream_times
from twinloop.formats.mapping.markers import cut_at_markers
from twinloop.formats.mapping.spans_table import read_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.recording import Recording

#: A silence of the state stream longer than this ends an episode, where the mapping does not say.
DEFAULT_IDLE_S = 2.0

#: The feature whose text is the episodes' instruction, under LeRobot's name.
INSTRUCTION_FEATURE = "task"


def cut_episodes(recording: Recording, mapping: Mapping) -> list[EpisodeSpan]:
    """The episodes of a recording, in order of time, [start_ns, end_ns) on its streams' timeline.

    An episode without an instruction of its own gets the last text that the stream of the feature `task`
    held before its start, or else its first text within.

    Raises:
        MappingError: the cut needs a stream, field, value or table that is not there.
    """
    match mapping.episodes.by:
        case Cut.WHOLE:
            spans = _whole(recording, mapping)
        case Cut.MARKED:
            spans = _marked(recording)
        case Cut.TOPIC:
            spans = cut_at_markers(recording, mapping)
        case Cut.SPANS:
            spans = read_spans(recording, mapping)
        case Cut.GAPS:
            spans = _at_gaps(recording, mapping)
    spans = [replace(span, index=index) for index, span in enumerate(sorted(spans, key=lambda s: s.start_ns))]
    return _with_instructions(recording, mapping, spans)


def _whole(recording: Recording, mapping: Mapping) -> list[EpisodeSpan]:
    edges = extent(recording, mapping)
    return [] if edges is None else [EpisodeSpan(0, edges[0], edges[1] + 1)]


def _marked(recording: Recording) -> list[EpisodeSpan]:
    if not recording.episodes:
        raise MappingError(
            "[episodes] cuts as the recording marks, but it marks no episodes",
            where=str(recording.path),
            fix='use by = "whole", "topic", "spans" or "gaps"',
        )
    return list(recording.episodes)


def _at_gaps(recording: Recording, mapping: Mapping) -> list[EpisodeSpan]:
    cut = mapping.episodes
    name = require_stream(recording, cut.stream or _state_stream(recording, mapping), Cut.GAPS)
    runs = list(stream_times(recording, [name]))
    if not runs:
        return []
    times = np.sort(np.concatenate(runs))
    idle_ns = (cut.idle_s if cut.idle_s is not None else DEFAULT_IDLE_S) * 1e9
    breaks = np.flatnonzero(np.diff(times) > idle_ns)
    starts = times[np.concatenate([[0], breaks + 1])]
    ends = times[np.concatenate([breaks, [len(times) - 1]])]
    return [EpisodeSpan(i, int(a), int(b) + 1) for i, (a, b) in enumerate(zip(starts, ends, strict=True))]


def _state_stream(recording: Recording, mapping: Mapping) -> str | None:
    """The stream of the first observation that is no picture."""
    for feature in mapping.by_role(Role.OBSERVATION):
        stream = recording.streams.get(feature.stream)
        if stream is not None and stream.kind not in PAYLOAD_KINDS | {Kind.TEXT}:
            return stream.name
    return None


def _with_instructions(recording: Recording, mapping: Mapping, spans: list[EpisodeSpan]) -> list[EpisodeSpan]:
    feature = next((f for f in mapping.features if f.name == INSTRUCTION_FEATURE), None)
    if feature is None or all(span.instruction for span in spans):
        return spans
    times, texts = _texts(recording, feature)
    if not texts:
        return spans
    return [
        span if span.instruction else replace(span, instruction=_text_of(span, times, texts)) for span in spans
    ]


def _texts(recording: Recording, feature: Feature) -> tuple[NDArray[np.int64], list[str]]:
    """The texts of a feature's stream in order of time."""
    stream = recording.streams.get(feature.stream)
    if stream is None:
        return np.empty(0, np.int64), []
    column = feature.field or ("name" if stream.kind is Kind.EVENT else "text")
    times: list[NDArray[np.int64]] = []
    texts: list[str] = []
    for batch in recording.scan([stream.name], payload=False):
        if len(batch) and column in batch.columns.schema.names:
            times.append(timeline_ns(stream, batch.columns))
            texts += [str(text or "") for text in batch.columns.column(column).to_pylist()]
    if not texts:
        return np.empty(0, np.int64), []
    joined = np.concatenate(times)
    order = np.argsort(joined, kind="stable")
    return joined[order], [texts[i] for i in order]


def _text_of(span: EpisodeSpan, times: NDArray[np.int64], texts: list[str]) -> str | None:
    before = int(np.searchsorted(times, span.start_ns, "right")) - 1
    if before >= 0:
        return texts[before] or None
    return (texts[0] or None) if times[0] < span.end_ns else None
