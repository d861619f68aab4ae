"""How the streams of several recordings become those of one session.

Streams that one sitting's recordings share by name and that follow each other in time are one stream; where
they overlap, the later recording's is named ``<name>@<hash>``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from twinloop.core.mapping import Feature
from twinloop.core.mapping import Mapping as FeatureMapping

if TYPE_CHECKING:
    from twinloop.core.stream import Stream
    from twinloop.store.manifest import Manifest, RecordingEntry, StreamEntry


@dataclass(frozen=True, slots=True)
class Part:
    """A stream of one recording; `segments_before` counts the video segments of earlier parts."""

    recording: RecordingEntry
    entry: StreamEntry
    segments_before: int = 0


def merge_streams(manifest: Manifest) -> dict[str, list[Part]]:
    """The streams of a session by name, each with its parts in the order of time."""
    parts: dict[str, list[Part]] = {}
    for recording in manifest.recordings:
        for entry in recording.streams:
            name = entry.stream.name
            if name in parts and not _follows(parts[name], recording, entry):
                name = f"{name}@{recording.hash[:8]}"
            before = parts.setdefault(name, [])
            if before and not _follows(before, recording, entry):
                continue
            before.append(Part(recording, entry))
    return {name: _in_time(found) for name, found in parts.items()}


def _in_time(parts: list[Part]) -> list[Part]:
    """The parts of one stream in the order of time, each with the number of segments before it."""
    ordered, segments = [], 0
    for part in sorted(parts, key=_first_time):
        ordered.append(replace(part, segments_before=segments))
        segments += len(part.entry.stream.segments)
    return ordered


def _first_time(part: Part) -> int:
    extent = extent_of(part.recording, part.entry.stream)
    return extent[0] if extent else part.entry.stream.start_ns or 0


def _follows(before: list[Part], recording: RecordingEntry, entry: StreamEntry) -> bool:
    """Whether a stream goes on where others of its name do not reach: same layout, same clocks, no overlap."""
    stream = entry.stream
    for part in before:
        other = part.entry.stream
        if (other.kind, other.timeline, other.stamp_clock, other.log_clock, other.has_payload) != (
            stream.kind,
            stream.timeline,
            stream.stamp_clock,
            stream.log_clock,
            stream.has_payload,
        ):
            return False
        mine, theirs = extent_of(recording, stream), extent_of(part.recording, other)
        if mine and theirs and mine[0] <= theirs[1] and theirs[0] <= mine[1]:
            return False
    return True


def extent_of(recording: RecordingEntry, stream: Stream) -> tuple[int, int] | None:
    """First and last time of a stream within its recording's span [ns]; None if it has no sample there."""
    if stream.start_ns is None or stream.end_ns is None:
        return None
    start = later(stream.start_ns, recording.start_ns)
    end = earlier(stream.end_ns, None if recording.end_ns is None else recording.end_ns - 1)
    assert start is not None and end is not None
    return (start, end) if start <= end else None


def is_cut(part: Part) -> bool:
    """Whether a split left some of this stream's samples to another session."""
    extent = extent_of(part.recording, part.entry.stream)
    stream = part.entry.stream
    return extent != (stream.start_ns, stream.end_ns) and stream.start_ns is not None


def merge_mappings(parts: dict[str, list[Part]], manifest: Manifest) -> FeatureMapping:
    """All recordings' features; of two with one name the earlier recording's holds."""
    names = {
        (part.recording.hash, part.entry.stream.name): name for name, found in parts.items() for part in found
    }
    features: dict[str, Feature] = {}
    for recording in manifest.recordings:
        for feature in recording.mapping.features:
            stream = names.get((recording.hash, feature.stream), feature.stream)
            features.setdefault(feature.name, replace(feature, stream=stream))
    if not manifest.recordings:
        return FeatureMapping()
    return replace(manifest.recordings[0].mapping, features=tuple(features.values()))


def merge_metadata(manifest: Manifest) -> dict[str, str]:
    """All recordings' metadata; of several, each below its recording's name."""
    if len(manifest.recordings) == 1:
        return dict(manifest.recordings[0].metadata)
    return {
        f"{recording.name}/{name}": value
        for recording in manifest.recordings
        for name, value in recording.metadata.items()
    }


def later(a: int | None, b: int | None) -> int | None:
    """The later of two times; None is no limit."""
    return b if a is None else a if b is None else max(a, b)


def earlier(a: int | None, b: int | None) -> int | None:
    """The earlier of two times; None is no limit."""
    return b if a is None else a if b is None else min(a, b)
