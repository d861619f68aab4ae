"""Whether what a rule needs is there, and if not, why: so that rules hold no code for missing inputs."""

from __future__ import annotations

from dataclasses import dataclass

from twinloop.checks.commands import command_features, state_features
from twinloop.checks.measure.observer import why_untimed
from twinloop.checks.rule import Need
from twinloop.checks.subject import EpisodeSubject, RecordingSubject


@dataclass(frozen=True, slots=True)
class Lack:
    """An input that is missing, for one stream or (None) altogether."""

    why: str
    stream: str | None = None


def lacks(subject: RecordingSubject, need: Need) -> tuple[bool, list[Lack]]:
    """Whether nothing at all is there of what a rule needs, and what is missing of it."""
    return _LACKS[need](subject)


def _lacks_times(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    missing = [
        Lack(why, name)
        for name, seen in subject.observed.items()
        if seen.rows and (why := why_untimed(seen)) is not None
    ]
    none = not any(True for _ in subject.timed())
    return none, missing or ([Lack("no stream has samples")] if none else [])


def _lacks_delay(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    none = all(seen.delay is None for seen in subject.observed.values())
    return none, [Lack("no stream has both a stamp and a recorder's time")] if none else []


def _lacks_grid(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    none = not any(True for _ in subject.on_grid())
    return none, [Lack("no stream's times are a grid")] if none else []


def _lacks_rate(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    none = not any(stream.rate_hz for stream, _ in subject.timed())
    return none, [Lack("no stream with measured times declares a rate")] if none else []


def _lacks_values(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    none = all(seen.values is None for seen in subject.observed.values())
    return none, [Lack("no stream holds floating-point numbers")] if none else []


def _lacks_state(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    if not (state_features(subject.mapping) or command_features(subject.mapping)):
        return True, [Lack("no stream is known as state or action: give a mapping")]
    if isinstance(subject, EpisodeSubject):
        missing = [Lack(f"feature {name}: {why}") for name, why in subject.unread.items()]
        return not subject.samples, missing or ([] if subject.samples else [Lack("no feature was read")])
    return False, []


def _lacks_commands(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    if isinstance(subject, EpisodeSubject):
        none = not subject.commands()
        return none, [Lack(subject.why_no_commands())] if none else []
    return _lacks_state(subject)


def _lacks_images(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    none = all(seen.images is None for seen in subject.observed.values())
    return none, [Lack("no image stream points into video files")] if none else []


def _lacks_labels(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    none = all(seen.labels is None for seen in subject.observed.values())
    return none, [Lack("no stream holds labels of spans")] if none else []


def _lacks_episodes(subject: RecordingSubject) -> tuple[bool, list[Lack]]:
    none = len(subject.spans) < 2
    return none, [Lack(f"it takes two episodes, and there is {len(subject.spans) or 'none'}")] if none else []


_LACKS = {
    Need.TIMES: _lacks_times,
    Need.STAMP_AND_LOG: _lacks_delay,
    Need.GRID: _lacks_grid,
    Need.DECLARED_RATE: _lacks_rate,
    Need.VALUES: _lacks_values,
    Need.STATE_OR_ACTION: _lacks_state,
    Need.COMMAND_AND_STATE: _lacks_commands,
    Need.IMAGE_ROWS: _lacks_images,
    Need.EPISODES: _lacks_episodes,
    Need.LABELS: _lacks_labels,
}
