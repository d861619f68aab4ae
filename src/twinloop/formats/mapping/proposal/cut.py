"""How a recording seems to be cut into episodes, and where their instructions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import MappingError
from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Cut, EpisodeCut, Feature, Mapping
from twinloop.formats.mapping.episodes import INSTRUCTION_FEATURE
from twinloop.formats.mapping.markers import cut_at_markers
from twinloop.formats.mapping.proposal.words import word_set
from twinloop.formats.mapping.proposal.words import words as words_of
from twinloop.formats.mapping.sample import first_batches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

_MARKER = word_set("episode episodes demo demos demonstration trial trials take takes attempt recording record")
_INSTRUCTION = word_set("instruction instructions task prompt language goal description")
_PAIRS = (
    ("start", "stop"),
    ("start", "end"),
    ("begin", "end"),
    ("started", "stopped"),
    ("started", "finished"),
    ("episode_start", "episode_end"),
    ("start_episode", "end_episode"),
    ("start*", "stop*"),
    ("start*", "end*"),
    ("begin*", "end*"),
)
#: A marker speaks rarely, or at a rate as a level does; more samples than this are not looked through.
_MOST_SAMPLES = 100_000


def propose_cut(recording: Recording) -> EpisodeCut:
    """The source's own episodes, else a marker stream, else one episode."""
    if recording.episodes:
        return EpisodeCut(Cut.MARKED, why=f"the recording marks {len(recording.episodes)} episodes itself")
    for stream in _named(recording.streams.values(), _MARKER, (Kind.TEXT, Kind.EVENT, Kind.SCALAR)):
        for cut in _cuts(stream):
            try:
                spans = cut_at_markers(recording, Mapping(episodes=cut))
            except MappingError:
                continue
            words = f"{cut.start or 'true'!r} and {cut.stop or 'false'!r}"
            why = f"{stream.name} marks {len(spans)} of them with {words}"
            return EpisodeCut(Cut.TOPIC, cut.stream, cut.field, cut.start, cut.stop, why=why)
    return EpisodeCut(Cut.WHOLE, why="nothing in the recording marks episodes: all of it is one")


def propose_instruction(recording: Recording) -> list[Feature]:
    """The text stream that says what is to be done, if there is one."""
    for stream in _named(recording.streams.values(), _INSTRUCTION, (Kind.TEXT,)):
        batches = first_batches(recording, stream.name, 2.0)
        field = next((n for n in ("text", "name") if batches and n in batches[0].schema.names), "text")
        why = "text, and its name speaks of what is to be done"
        return [Feature(INSTRUCTION_FEATURE, stream.name, Role.REFERENCE, field, why=why)]
    return []


def _named(streams: Iterable[Stream], wanted: frozenset[str], kinds: tuple[Kind, ...]) -> list[Stream]:
    return [
        stream
        for stream in streams
        if stream.kind in kinds
        and wanted & set(words_of(stream.name))
        and 0 < (stream.count or 1) <= _MOST_SAMPLES
    ]


def _cuts(stream: Stream) -> list[EpisodeCut]:
    if stream.kind is Kind.SCALAR:
        return [EpisodeCut(Cut.TOPIC, stream.name)]
    return [EpisodeCut(Cut.TOPIC, stream.name, start=start, stop=stop) for start, stop in _PAIRS]
