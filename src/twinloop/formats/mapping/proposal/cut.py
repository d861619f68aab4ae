"""How a recording could be cut into episodes: by its own marks, a topic of markers, a table, or silences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.kinds import TIME_COLUMNS, Kind
from twinloop.core.mapping import Cut, EpisodeCut, Feature
from twinloop.formats.mapping.extent import stream_times
from twinloop.formats.mapping.proposal import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

_MARKER = words.word_set(
    "episode episodes demo demos demonstration trial trials take takes attempt attempts record recording marker"
    " markers event events segment running active annotation"
)
_START_WORDS = ("start", "begin", "started", "recording", "record", "running", "active", "resume")
_STOP_WORDS = ("stop", "end", "finish", "finished", "done", "ended", "stopped", "idle", "success", "failure")
#: A marker speaks rarely, or at a rate as a level does; more samples than this are not looked through.
_MOST_SAMPLES = 100_000
_MOST_WORDS = 200
_SILENCE_S = 5.0
#: Silences are looked for only where reading all times is cheap.
_SMALL_BYTES = 200 << 20


def propose_cut(recording: Recording, features: Sequence[Feature]) -> EpisodeCut:
    """The cut that fits what is there, with its reason; `features` are those proposed."""
    if recording.episodes:
        return EpisodeCut(Cut.MARKED, why=f"the recording itself marks {len(recording.episodes)} episodes")
    for stream in recording.streams.values():
        if _MARKER & set(words.words(stream.name)) and 0 < (stream.count or 1) <= _MOST_SAMPLES:
            cut = _by_topic(recording, stream)
            if cut is not None:
                return cut
    if (table := _spans_beside(recording)) is not None:
        return EpisodeCut(Cut.SPANS, table=table, why=f"{table} beside the recording lists spans")
    if (found := _silences(recording, features)) is not None:
        return found
    return EpisodeCut(Cut.WHOLE, why="nothing marks episodes: the whole recording is one")


def _by_topic(recording: Recording, stream: Stream) -> EpisodeCut | None:
    field, values = _values(recording, stream)
    if field is None or values is None or not len(values):
        return None
    if pa.types.is_boolean(values.type) or (
        stream.kind is Kind.SCALAR and set(_distinct(values)) <= {0.0, 1.0}
    ):
        rises = int(np.sum(np.diff(np.asarray(values.cast(pa.int8()).fill_null(0)), prepend=0) > 0))
        on, off = ("true", "false") if pa.types.is_boolean(values.type) else ("1", "0")
        why = f"{stream.name} becomes {on} {rises} times"
        return EpisodeCut(Cut.TOPIC, stream.name, field, on, off, why=why) if rises else None
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        return None
    distinct = [str(value) for value in _distinct(values) if value]
    start, stop = _pattern(distinct, _START_WORDS), _pattern(distinct, _STOP_WORDS)
    if start is None:
        return None
    until = f" and {stop!r}" if stop else ""
    why = f"the texts of {stream.name} say {start!r}{until}"
    return EpisodeCut(Cut.TOPIC, stream.name, field, start, stop, why=why)


def _values(recording: Recording, stream: Stream) -> tuple[str | None, pa.Array | None]:
    """The one value of each sample of a stream that could mark, or nothing."""
    field = {Kind.TEXT: "text", Kind.EVENT: "name", Kind.SCALAR: "value"}.get(stream.kind)
    if field is None and stream.kind is not Kind.TABLE:
        return None, None
    arrays = []
    for batch in recording.scan([stream.name], payload=False):
        known = [name for name in batch.columns.schema.names if name not in TIME_COLUMNS]
        if field is None and len(known) == 1:
            field = known[0]
        if field not in known:
            return None, None
        arrays.append(batch.columns.column(field))
    if not arrays:
        return None, None
    values = pa.chunked_array(arrays).combine_chunks()
    return field, values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _distinct(values: pa.Array) -> list[object]:
    found: list[object] = pc.unique(values).to_pylist()
    return found[:_MOST_WORDS]


def _pattern(texts: list[str], starts: tuple[str, ...]) -> str | None:
    """The text that begins with one of the words; with a star where several texts begin so."""
    for word in starts:
        found = [text for text in texts if words.words(text)[:1] == [word]]
        if len(found) == 1 and len(found[0]) <= len(word) + 2:
            return found[0]
        if found and all(text.startswith(found[0][: len(word)]) for text in found):
            return found[0][: len(word)] + "*"
    return None


def _spans_beside(recording: Recording) -> str | None:
    folder = recording.path if recording.path.is_dir() else recording.path.parent
    for name in (f"{recording.path.stem}.spans.csv", f"{recording.path.stem}.episodes.csv", "spans.csv"):
        if (folder / name).is_file():
            return name
    return None


def _silences(recording: Recording, features: Sequence[Feature]) -> EpisodeCut | None:
    """A cut where nothing at all was recorded for long; one stream's silence alone may be a defect."""
    state = next((f.stream for f in features if f.name.startswith("observation.state")), None)
    if state is None or recording.size_bytes > _SMALL_BYTES:
        return None
    runs = list(stream_times(recording, sorted({feature.stream for feature in features})))
    gaps = np.diff(np.sort(np.concatenate(runs))).astype(np.float64) / 1e9 if runs else np.empty(0)
    long = gaps[gaps > _SILENCE_S]
    if not len(long):
        return None
    times = f"{len(long)} times" if len(long) > 1 else "once"
    why = f"nothing is recorded for more than {_SILENCE_S:g} s, {times} (up to {long.max():.1f} s)"
    return EpisodeCut(Cut.GAPS, state, idle_s=_SILENCE_S, why=why)
