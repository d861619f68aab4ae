"""The metadata record ``twinloop`` of an MCAP file: what was written, and where each column stands."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from twinloop.core.clock import ClockModel
from twinloop.core.mapping import Mapping
from twinloop.core.recording import EpisodeSpan
from twinloop.core.session import SessionFacts as StatedFacts
from twinloop.core.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Mapping as Dict

RECORD, SESSION, STREAM = "twinloop", "session", "stream:"
FORMAT = 1
#: Fields of companions: the row's number, and as JSON the values that no message holds.
ROW, EXCEPTIONS = "row", "exceptions"
#: The field of bulk bytes in messages of our own.
DATA = "data"
#: Columns that say where an image lies in a store; the message holds the image itself.
PLACES = frozenset({"segment", "pts", "keyframe"})


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The session behind a file."""

    format: int
    session: str
    facts: StatedFacts = StatedFacts()
    episodes: tuple[EpisodeSpan, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    calibration: dict[str, object] = field(default_factory=dict)
    clock_models: tuple[ClockModel, ...] = ()
    mapping: Mapping = Mapping()
    recordings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """One stream of a file.

    Attributes:
        stream: as it was. schema: its Arrow schema, serialized, in base 64.
        topic: of its messages. companion: the topic of the columns that they do not hold.
        fields: column -> field, of messages of our own; empty for standard ones, whose columns readers name.
        beside: column -> field of the companion. constants: columns that hold one value in all rows.
        pictures: whether images are in the messages, and the columns that placed them in video files gone.
    """

    stream: Stream
    schema: str
    topic: str
    companion: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)
    pictures: bool = False

    def arrow_schema(self) -> pa.Schema:
        """The stream's columns."""
        return pa.ipc.read_schema(pa.BufferReader(base64.b64decode(self.schema)))


def read_facts(metadata: Dict[str, str]) -> tuple[SessionFacts, dict[str, StreamFacts]] | None:
    """The facts among a recording's metadata; None where they are not there, damaged or of a later format."""
    text = metadata.get(f"{RECORD}/{SESSION}")
    if text is None:
        return None
    start = f"{RECORD}/{STREAM}"
    try:
        session = msgspec.json.decode(text, type=SessionFacts)
        if session.format != FORMAT:
            return None
        streams = {
            name.removeprefix(start): msgspec.json.decode(value, type=StreamFacts)
            for name, value in metadata.items()
            if name.startswith(start)
        }
        for facts in streams.values():
            facts.arrow_schema()
    except (msgspec.MsgspecError, pa.ArrowException, ValueError):
        return None
    return session, streams
