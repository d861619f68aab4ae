"""Episodes between start and stop values of a stream: texts, events, truth values or numbers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import MappingError, Where
from twinloop.core.kinds import TIME_COLUMNS, Kind
from twinloop.core.mapping import Cut, EpisodeCut, Mapping
from twinloop.core.recording import EpisodeSpan
from twinloop.core.session import Outcome
from twinloop.core.timeline import timeline_ns
from twinloop.formats.mapping.extent import extent, require_stream
from twinloop.formats.mapping.ragged import is_list, is_number, number_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

_START, _STOP = 1, 2

_DEFAULT_FIELD = {Kind.TEXT: "text", Kind.EVENT: "name", Kind.SCALAR: "value"}


def cut_at_markers(recording: Recording, mapping: Mapping) -> list[EpisodeSpan]:
    """Episodes from each start value to the next stop value (or to the recording's end).

    `start` and `stop` match the whole value; a ``*`` stands for any text, which becomes the instruction
    (in `start`) or the outcome (in `stop`, if it is one). With a stop value, a repeated start changes
    nothing: the topic may be a level sent at a rate. Without one, a text starts a new episode each time,
    and a truth value or number ends it when it differs. An event's data may give ``instruction`` and
    ``outcome`` as JSON.

    Raises:
        MappingError: no such stream or field, or no value of it is a start.
    """
    cut = mapping.episodes
    name = require_stream(recording, cut.stream, Cut.TOPIC)
    samples = _read_markers(recording, recording.streams[name], cut)
    start, stop = _patterns(cut, samples.level, name)
    classes = np.array([_classify(value, start, stop, samples.level) for value in samples.words], np.int8)
    marks = classes[samples.codes] if len(samples.codes) else np.empty(0, np.int8)
    rows = np.flatnonzero(marks)
    if not (marks == _START).any():
        seen = ", ".join(repr(word) for word in samples.words[:8]) or "no sample at all"
        raise MappingError(
            f"[episodes]: no value of {name} is the start {cut.start or 'true'!r}",
            where=Where(str(recording.path), stream=name),
            expected=f"its values: {seen}{', ...' if len(samples.words) > 8 else ''}",
        )
    if stop is not None or samples.level:
        changes = np.concatenate([[True], marks[rows][1:] != marks[rows][:-1]])
        rows = rows[changes]
    edges = extent(recording, mapping)
    last = int(max(samples.times[-1], edges[1] if edges else 0)) + 1
    spans = []
    for position, row in enumerate(rows):
        if marks[row] == _START:
            following = rows[position + 1] if position + 1 < len(rows) else None
            spans.append(_span(samples, row, following, last, start, stop, marks))
    return spans


@dataclass(frozen=True, slots=True)
class _Markers:
    """The marker samples in order of time: times (N,), values as indices (N,) into distinct words."""

    times: NDArray[np.int64]
    codes: NDArray[np.int64]
    words: list[str]
    data: list[str | None] | None
    level: bool


def _read_markers(recording: Recording, stream: Stream, cut: EpisodeCut) -> _Markers:
    times: list[NDArray[np.int64]] = []
    values: list[pa.Array] = []
    data: list[str | None] = []
    level = False
    for batch in recording.scan([stream.name], payload=False):
        if not len(batch):
            continue
        array, level = _values(batch.columns, stream, cut.field)
        values.append(array)
        times.append(timeline_ns(stream, batch.columns))
        if stream.kind is Kind.EVENT and "data" in batch.columns.schema.names:
            data += batch.columns.column("data").to_pylist()
    if not values:
        return _Markers(np.empty(0, np.int64), np.empty(0, np.int64), [], None, level)
    joined = np.concatenate(times)
    order = np.argsort(joined, kind="stable")
    encoded = pa.concat_arrays(values).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)[order]
    ordered = [data[i] for i in order] if len(data) == len(joined) else None
    return _Markers(joined[order], codes, encoded.dictionary.to_pylist(), ordered, level)


def _values(columns: pa.RecordBatch, stream: Stream, field: str | None) -> tuple[pa.Array, bool]:
    """The marker values as strings (null: empty), and whether they are levels (truth values, numbers)."""
    known = [name for name in columns.schema.names if name not in TIME_COLUMNS]
    wanted = field or _DEFAULT_FIELD.get(stream.kind) or (known[0] if len(known) == 1 else None)
    column, _, element = (wanted or "").rpartition(".")
    if wanted in known:
        array = columns.column(wanted)
    elif column in known and element.isdigit() and is_list(columns.column(column).type):
        rows = number_rows(columns.column(column))
        fit = rows.length > int(element)
        picked = np.full(len(fit), np.nan)
        picked[fit] = rows.values[rows.start[fit] + int(element)]
        array = pa.array(picked)
    else:
        raise MappingError(
            f"[episodes]: the stream has no field {wanted!r}" if wanted else "[episodes]: which field marks?",
            where=Where(stream=stream.name),
            expected=f"one of: {', '.join(known)}",
            fix='set field = "..." in [episodes]',
        )
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_list(array.type):
        raise MappingError(
            f"[episodes]: the field {wanted!r} is a list",
            where=Where(stream=stream.name),
            expected=f'one value a sample, e.g. field = "{wanted}.0"',
        )
    return array.cast(pa.string()).fill_null(""), is_number(array.type)


class _Pattern:
    """A value to match: as text with ``*``, or as a number where both are numbers."""

    def __init__(self, text: str) -> None:
        self.number = _number(text)
        self.regex = re.compile("(.*)".join(map(re.escape, text.split("*"))), re.DOTALL)

    def matches(self, value: str) -> bool:
        number = _number(value)
        if self.number is not None and number is not None:
            return number == self.number
        return self.regex.fullmatch(value) is not None

    def starred(self, value: str) -> str | None:
        match = self.regex.fullmatch(value)
        return (match[1].strip(" :=,") or None) if match and self.regex.groups else None


def _patterns(cut: EpisodeCut, level: bool, stream: str) -> tuple[_Pattern, _Pattern | None]:
    if cut.start is None and not level:
        raise MappingError(
            "[episodes] cuts by topic but names no start value",
            where=Where(stream=stream),
            fix='add start = "..." to [episodes]',
        )
    return _Pattern(cut.start or "true"), None if cut.stop is None else _Pattern(cut.stop)


def _classify(value: str, start: _Pattern, stop: _Pattern | None, level: bool) -> int:
    if start.matches(value):
        return _START
    if stop is None:
        return _STOP if level else 0
    return _STOP if stop.matches(value) else 0


def _number(text: str) -> float | None:
    if text in ("true", "false"):
        return float(text == "true")
    try:
        return float(text)
    except ValueError:
        return None


def _span(
    samples: _Markers,
    row: np.int64,
    following: np.int64 | None,
    last: int,
    start: _Pattern,
    stop: _Pattern | None,
    marks: NDArray[np.int8],
) -> EpisodeSpan:
    facts = _facts(samples, row)
    instruction = facts.get("instruction") or start.starred(samples.words[samples.codes[row]])
    outcome = facts.get("outcome")
    attributes = {}
    if following is None:
        attributes["end"] = "no stop: ends with the recording"
    elif marks[following] == _STOP:
        ended = _facts(samples, following)
        said = stop.starred(samples.words[samples.codes[following]]) if stop else None
        outcome = ended.get("outcome") or (said if said in set(Outcome) else outcome)
        instruction = instruction or ended.get("instruction")
    end = last if following is None else int(samples.times[following])
    return EpisodeSpan(0, int(samples.times[row]), end, instruction, outcome, attributes)


def _facts(samples: _Markers, row: np.int64) -> dict[str, str]:
    """What an event's data says of the episode: its instruction and outcome."""
    text = samples.data[row] if samples.data is not None else None
    try:
        said = json.loads(text or "{}")
    except json.JSONDecodeError:
        return {}
    if not isinstance(said, dict):
        return {}
    return {key: said[key] for key in ("instruction", "outcome") if isinstance(said.get(key), str)}
