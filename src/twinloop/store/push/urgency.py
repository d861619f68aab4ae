"""How urgent a recording is: interventions and failures are what the next training round needs first.

Looked at: the outcome that `session.toml` states, the outcomes of the episodes that the recording's index
marks, and its event streams and topics of interventions. Never the file's name. No more than the index and
one small stream is read; what cannot be read is of ordinary urgency.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind
from twinloop.core.session import Outcome
from twinloop.store.sources import IngestOptions, options_for

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

ORDINARY, FAILURE, INTERVENTION = 0, 1, 2
_FAILED = frozenset({Outcome.FAILURE, Outcome.ABORTED, "failed", "fail", "abort"})
_TOPIC = re.compile(r"(^|/)[^/]*(intervention|takeover|e_?stop)[^/]*$", re.IGNORECASE)
_EVENT = re.compile(r"intervention|takeover|e_?stop|emergency", re.IGNORECASE)
_FAILURE_EVENT = re.compile(r"fail|abort|collision", re.IGNORECASE)
#: Streams with more samples are not read to find out.
_MOST_SAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Urgency:
    """`level`: `INTERVENTION` before `FAILURE` before `ORDINARY`; `why`: what it was seen from."""

    level: int = ORDINARY
    why: str = ""


def urgency(path: Path) -> Urgency:
    """How urgent the recording at a path is."""
    from twinloop.formats.reader import open_recording

    found = [_stated(path)]
    try:
        with open_recording(path) as recording:
            found += [_of_episodes(recording), _of_streams(recording)]
    except Exception:  # whatever is wrong with it, the store will tell
        return found[0]
    return max(found, key=lambda seen: seen.level)


def _stated(path: Path) -> Urgency:
    try:
        options = options_for(path, IngestOptions())
    except Exception:
        return Urgency()
    if options.facts.meta.get("intervention", "").lower() in ("true", "yes", "1"):
        return Urgency(INTERVENTION, "session.toml states an intervention")
    if options.outcome in _FAILED:
        return Urgency(FAILURE, f"session.toml states outcome {options.outcome}")
    return Urgency()


def _of_episodes(recording: Recording) -> Urgency:
    for episode in recording.episodes:
        if any(
            _EVENT.search(name) and value.lower() not in ("", "0", "false", "no", "none")
            for name, value in episode.attributes.items()
        ):
            return Urgency(INTERVENTION, f"episode {episode.index} has an intervention")
    for episode in recording.episodes:
        if (episode.outcome or "").lower() in _FAILED:
            return Urgency(FAILURE, f"episode {episode.index} ended as {episode.outcome}")
    return Urgency()


def _of_streams(recording: Recording) -> Urgency:
    best = Urgency()
    for stream in recording.streams.values():
        if _TOPIC.search(stream.name) and _happened(recording, stream):
            return Urgency(INTERVENTION, f"{stream.name} tells of an intervention")
        if stream.kind in (Kind.EVENT, Kind.LABEL) and 0 < (stream.count or 1) <= _MOST_SAMPLES:
            names = {str(name) for name in recording.read(stream.name, ["name"])["name"].unique().to_pylist()}
            if any(_EVENT.search(name) for name in names):
                return Urgency(INTERVENTION, f"{stream.name} tells of an intervention")
            if any(_FAILURE_EVENT.search(name) for name in names):
                best = Urgency(FAILURE, f"{stream.name} tells of a failure")
    return best


def _happened(recording: Recording, stream: Stream) -> bool:
    """Whether a topic of interventions says that there was one; a flag that stayed down says there was none."""
    if stream.count == 0:
        return False
    if stream.kind is not Kind.SCALAR or (stream.count or 0) > _MOST_SAMPLES:
        return True
    import pyarrow.compute as pc

    values = recording.read(stream.name, ["value"])["value"]
    return bool(pc.any(pc.not_equal(values, 0.0)).as_py())
