"""A rule: what it is called, what it needs, and the function that judges.

One rule is one file. Its documentation is the docstring of the module (or of the function, where one module
holds several rules), in Markdown under fixed headings; `twinloop explain`, the pages of docs/rules and the
tests follow from it::

    @rule(code="TIM004", name="gap", severity=Severity.WARNING, scope=Scope.EPISODE,
          needs=(Need.TIMES,), since="0.1")
    def gap(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
        ...

`Limits` is a frozen dataclass whose defaults are the rule's thresholds; a profile overrides them by code.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints

from twinloop.core.errors import TwinloopError, Where

if TYPE_CHECKING:
    from twinloop.core.finding import Severity

#: Headings that the documentation of every rule has, in this order.
HEADINGS = (
    "What it does",
    "Why it matters",
    "How it is measured",
    "Example",
    "Repair",
    "Tuning",
    "References",
)


class Scope(StrEnum):
    """What a rule is given at a time."""

    EPISODE = "episode"  # one episode (the whole recording, where it has none)
    RECORDING = "recording"  # one recording, over all its episodes
    SET = "set"  # all episodes, through a summary of each


class Need(StrEnum):
    """An input that a recording may lack; a rule without its inputs is noted as not run."""

    TIMES = "times that were measured"
    STAMP_AND_LOG = "a stamp and a recorder's time of the same sample"
    GRID = "times on a grid"
    DECLARED_RATE = "a declared rate"
    VALUES = "streams of numbers"
    STATE_OR_ACTION = "a feature of state or action"
    COMMAND_AND_STATE = "commands and the states that follow them, element by element"
    IMAGE_ROWS = "image rows that point into video files"
    EPISODES = "several episodes"
    LABELS = "labels of spans"


@dataclass(frozen=True, slots=True)
class Broken:
    """One place where a rule is broken; the engine adds code, name, episode, clock and seconds.

    Attributes:
        severity: None for the rule's own.
        stream: its name; of a pair ``a -> b``. clock_of: the stream whose clock the times are on, where
            `stream` is not one stream's name.
        episode: its index; None: the subject's, or for a recording the episode that `start_ns` lies in.
    """

    message: str
    fix: str = ""
    severity: Severity | None = None
    stream: str | None = None
    clock_of: str | None = None
    episode: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    confidence: float = 1.0
    where: Where = Where()


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """What a rule yields where it looked and could not tell: it is noted as not run there, never a pass."""

    why: str
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class NoLimits:
    """For rules that have nothing to tune."""


Judge = Callable[[Any, Any], Iterable[Broken | NotMeasured]]
Summarise = Callable[[Any, Any], Any]

_CODE = re.compile(r"[A-Z]{3}\d{3}")


class RuleError(TwinloopError):
    """A rule is not declared as it must be: a mistake of its author."""


@dataclass(frozen=True)
class Rule:
    """A rule's metadata and functions.

    Attributes:
        code: three letters of the family and three digits; never used again once given.
        name: in words joined by underscores. severity: of most of its findings.
        needs: inputs without which it does not run. since: the release that brought it.
        limits: the dataclass of its thresholds.
        judge: (subject, limits) -> places where it is broken.
        summarise: (episode subject, limits) -> what a rule of scope SET keeps of one episode, small.
    """

    code: str
    name: str
    severity: Severity
    scope: Scope
    needs: tuple[Need, ...]
    since: str
    limits: type
    judge: Judge
    summarise: Summarise | None = None

    @property
    def family(self) -> str:
        """The letters of the code."""
        return self.code[:3]

    @cached_property
    def documentation(self) -> RuleDocumentation:
        """The parsed docstring.

        Raises:
            RuleError: a heading is missing, unknown or out of order.
        """
        text = inspect.getdoc(self.judge) or ""
        if "## " not in text:
            text = inspect.cleandoc(sys.modules[self.judge.__module__].__doc__ or "")
        return parse_documentation(self.code, text)


@dataclass(frozen=True, slots=True)
class RuleDocumentation:
    """A rule's docstring in parts: one sentence, then Markdown under each of `HEADINGS`."""

    summary: str
    sections: dict[str, str]


def parse_documentation(code: str, text: str) -> RuleDocumentation:
    """Cut a docstring at its headings (``## What it does``).

    Raises:
        RuleError: the headings are not exactly `HEADINGS`, or one has nothing below it.
    """
    summary, *parts = re.split(r"^## +", text, flags=re.MULTILINE)
    sections = {}
    for part in parts:
        heading, _, body = part.partition("\n")
        sections[heading.strip()] = inspect.cleandoc(body)
    if tuple(sections) != HEADINGS:
        raise RuleError(
            f"the docstring of rule {code} has the headings {', '.join(sections) or 'none'}",
            expected=", ".join(HEADINGS),
        )
    empty = [heading for heading, body in sections.items() if not body]
    if empty or not summary.strip():
        raise RuleError(f"the docstring of rule {code} says nothing under {empty or 'its first line'}")
    return RuleDocumentation(" ".join(summary.split()), sections)


def rule(
    *,
    code: str,
    name: str,
    severity: Severity,
    scope: Scope,
    since: str,
    needs: tuple[Need, ...] = (),
    summarise: Summarise | None = None,
) -> Callable[[Judge], Rule]:
    """Decorator that makes a rule of a function (subject, limits) -> places where it is broken.

    Raises:
        RuleError: the code is not of the form ABC123, a set rule has no `summarise`, or the function's
            second argument is not annotated with a dataclass of limits.
    """
    if not _CODE.fullmatch(code):
        raise RuleError(f"{code!r} is no rule code", expected="three capital letters and three digits")
    if (scope is Scope.SET) != (summarise is not None):
        raise RuleError(f"rule {code}: a rule of scope set, and no other, has a summarise function")

    def make(judge: Judge) -> Rule:
        return Rule(code, name, severity, scope, needs, since, _limits_of(code, judge), judge, summarise)

    return make


def _limits_of(code: str, judge: Judge) -> type:
    second = list(inspect.signature(judge).parameters)[1:2]
    names = vars(sys.modules[judge.__module__])
    annotation = judge.__annotations__.get(second[0]) if second else None
    limits = names.get(annotation) if isinstance(annotation, str) else annotation
    if not (isinstance(limits, type) and is_dataclass(limits)):
        raise RuleError(f"rule {code}: the second argument is not annotated with a dataclass of limits")
    return limits


def limit_names(limits: type) -> dict[str, Any]:
    """The settings of a dataclass of limits with their defaults, in order."""
    return {field.name: field.default for field in fields(limits)}


def limit_types(limits: type) -> dict[str, Any]:
    """The settings of a dataclass of limits with their types."""
    return get_type_hints(limits)
