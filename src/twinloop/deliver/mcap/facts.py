"""What an MCAP file of ours says of itself, so that reading it gives back what was written.

One metadata record named ``twinloop``: ``session`` is JSON of episodes, metadata, calibration, facts, clock
models and mapping; ``stream:<name>`` is JSON of one stream and of where its columns stand.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from twinloop.deliver.mcap.own import field_names
from twinloop.formats.mcap.written.facts import FORMAT, SessionFacts, StreamFacts

if TYPE_CHECKING:
    from twinloop.deliver.mcap.channel import Channel
    from twinloop.deliver.source import ExportSource


def session_facts(source: ExportSource) -> str:
    """The session, as JSON."""
    recording = source.recording
    facts = SessionFacts(
        format=FORMAT,
        session=source.session,
        facts=source.facts,
        episodes=recording.episodes,
        metadata=dict(recording.metadata),
        calibration=dict(recording.calibration),
        clock_models=source.models,
        mapping=source.mapping,
        recordings=source.recordings,
    )
    return msgspec.json.encode(facts).decode()


def stream_facts(channel: Channel, companion: str | None) -> str:
    """A stream and where its columns stand, as JSON."""
    stream = channel.stream
    if channel.pictures:
        attributes = dict(stream.attributes)
        if channel.found.encoding not in ("", channel.pictures.format):
            attributes["source_encoding"] = channel.found.encoding
        stream = replace(stream, segments=(), attributes=attributes)
    facts = StreamFacts(
        stream=stream,
        schema=base64.b64encode(channel.found.schema.serialize().to_pybytes()).decode(),
        topic=stream.name,
        companion=companion,
        fields=field_names([*channel.message.fills]) if channel.is_own else {},
        beside=field_names([*channel.companion.fills]) if channel.companion else {},
        constants=channel.constants,
        pictures=channel.pictures is not None,
    )
    return msgspec.json.encode(facts).decode()
