"""The facts of a recording as JSON, schema 1. Times are decimal strings: JSON numbers lose nanoseconds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from twinloop.formats.summary.facts import StreamFacts, clock_spans, stream_facts

if TYPE_CHECKING:
    from twinloop.core.recording import Recording


def render_json(recording: Recording) -> str:
    """The recording as one JSON object.

    Keys: schema, path, format, files, size_bytes, clocks (epoch, start_ns, end_ns, duration_s), streams,
    episodes, attachments, metadata, calibration (names only), notes.
    """
    return json.dumps(
        {
            "schema": 1,
            "path": str(recording.path),
            "format": recording.format,
            "files": [str(file) for file in recording.files],
            "size_bytes": recording.size_bytes,
            "clocks": [
                {
                    "epoch": span.clock.epoch.value,
                    "start_ns": str(span.start_ns),
                    "end_ns": str(span.end_ns),
                    "duration_s": span.duration_s,
                }
                for span in clock_spans(recording)
            ],
            "streams": [_stream(facts) for facts in stream_facts(recording)],
            "episodes": [
                {
                    "index": episode.index,
                    "start_ns": str(episode.start_ns),
                    "end_ns": str(episode.end_ns),
                    "instruction": episode.instruction,
                    "outcome": episode.outcome,
                    "attributes": dict(episode.attributes),
                }
                for episode in recording.episodes
            ],
            "attachments": [
                {
                    "name": attachment.name,
                    "media_type": attachment.media_type,
                    "size": attachment.size,
                    "log_ns": _ns(attachment.log_ns),
                }
                for attachment in recording.attachments
            ],
            "metadata": recording.metadata,
            "calibration": list(recording.calibration),
            "notes": [
                {
                    "problem": note.problem.value,
                    "message": note.message,
                    "where": {
                        "file": note.where.file,
                        "stream": note.where.stream,
                        "time_ns": _ns(note.where.time_ns),
                        "byte": note.where.byte,
                        "row": note.where.row,
                    },
                    "lost": note.lost,
                }
                for note in recording.notes
            ],
        },
        indent=2,
        ensure_ascii=False,
    )


def _stream(facts: StreamFacts) -> dict[str, object]:
    stream = facts.stream
    return {
        "name": stream.name,
        "kind": stream.kind.value,
        "role": stream.role.value if stream.role else None,
        "type": stream.type_name,
        "encoding": stream.encoding,
        "count": stream.count,
        "declared_rate_hz": stream.rate_hz,
        "measured_rate_hz": facts.measured_hz,
        "start_ns": _ns(stream.start_ns),
        "end_ns": _ns(stream.end_ns),
        "timeline": stream.timeline,
        "clock": str(facts.clock),
        "stamp_source": stream.stamp_source.value,
        "stamp_clock": str(stream.stamp_clock),
        "log_clock": str(stream.log_clock),
        "bytes": stream.bytes,
        "segments": len(stream.segments),
        "units": dict(stream.units),
        "attributes": dict(stream.attributes),
    }


def _ns(time: int | None) -> str | None:
    return None if time is None else str(time)
