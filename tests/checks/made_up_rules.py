"""Rules for the tests of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twinloop.checks.rule import Broken, Need, NoLimits, NotMeasured, Rule, Scope, rule
from twinloop.checks.subject import EpisodeSubject, RecordingSubject, SetSubject
from twinloop.core.errors import UsageError
from twinloop.core.finding import Severity

INFO = {"severity": Severity.INFO, "since": "0.1"}


@dataclass(frozen=True, slots=True)
class Limits:
    """`most` things."""

    most: float = 2.0
    count: int = 1


@rule(code="ZZZ001", name="tells_all", scope=Scope.EPISODE, **INFO)  # type: ignore[arg-type]
def tells_all(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    """Tells of every stream.

    ## What it does

    Tells.

    ## Why it matters

    It does not.

    ## How it is measured

    It is not.

    ## Example

    None.

    ## Repair

    None.

    ## Tuning

    - `most`, `count`: numbers.

    ## References

    - none
    """
    for stream in subject.streams.values():
        timing = subject.timing(stream)
        if timing:
            yield Broken(
                message="here it is",
                stream=stream.name,
                start_ns=timing.first_ns,
                end_ns=timing.last_ns,
                value=float("nan"),
                limit=limits.most,
                confidence=3.0,
            )


@rule(code="ZZZ002", name="crashes", scope=Scope.EPISODE, **INFO)  # type: ignore[arg-type]
def crashes(subject: EpisodeSubject, limits: NoLimits) -> Iterator[Broken]:
    yield Broken(message="before the crash", stream="/imu")
    raise ZeroDivisionError("by zero")


@rule(code="ZZZ003", name="crashes_politely", scope=Scope.RECORDING, **INFO)  # type: ignore[arg-type]
def crashes_politely(subject: RecordingSubject, limits: NoLimits) -> Iterator[Broken]:
    raise UsageError("this cannot be")


@rule(code="ZZZ004", name="needs_images", scope=Scope.EPISODE, needs=(Need.IMAGE_ROWS,), **INFO)  # type: ignore[arg-type]
def needs_images(subject: EpisodeSubject, limits: NoLimits) -> Iterator[Broken]:
    yield Broken(message="images are there")


@rule(code="ZZZ005", name="cannot_tell", scope=Scope.EPISODE, **INFO)  # type: ignore[arg-type]
def cannot_tell(subject: EpisodeSubject, limits: NoLimits) -> Iterator[NotMeasured]:
    yield NotMeasured("it is too dark", "/camera")
    if subject.index == 2:
        yield NotMeasured("the battery is empty")


def count_streams(subject: EpisodeSubject, limits: NoLimits) -> int | None:
    return None if subject.index == 1 else len(subject.streams)


@rule(code="ZZZ006", name="over_all", scope=Scope.SET, summarise=count_streams, **INFO)  # type: ignore[arg-type]
def over_all(subject: SetSubject, limits: NoLimits) -> Iterator[Broken]:
    for index, streams in subject.summaries:
        yield Broken(message=f"{streams} streams", episode=index, value=streams)


def crash_early(subject: EpisodeSubject, limits: NoLimits) -> None:
    raise KeyError("nothing")


@rule(code="ZZZ007", name="crashes_early", scope=Scope.SET, summarise=crash_early, **INFO)  # type: ignore[arg-type]
def crashes_early(subject: SetSubject, limits: NoLimits) -> Iterator[Broken]:
    yield Broken(message="never")


ALL: list[Rule] = [item for item in list(globals().values()) if isinstance(item, Rule)]
