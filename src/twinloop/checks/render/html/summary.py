"""The top of the page: the name, the verdict, the worst findings in plain words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from twinloop.checks.render.html.markup import tag, text
from twinloop.checks.render.html.words import clock, count, mark, size
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from twinloop.checks.render.html.times import Axis
    from twinloop.core.finding import CheckReport, Finding
    from twinloop.core.recording import Recording

#: Kinds of findings told in full at the top, and places of each.
_HEADLINES, _PLACES = 4, 3
#: With so few headlines there is room to say what to do.
_FEW = 2


def head(
    name: str,
    recording: Recording,
    report: CheckReport,
    *,
    duration_s: float,
    episodes: int,
    axes: Mapping[str, Axis],
) -> str:
    """The header. `axes`: stream -> the axis that its samples are drawn on."""
    numbers = Counter(finding.severity for finding in report.findings)
    errors, warnings = numbers[Severity.ERROR], numbers[Severity.WARNING]
    worst = "error" if errors else "warning" if warnings else "good"
    verdict = "nothing wrong found"
    if errors or warnings:
        verdict = f"{count(errors, 'error')}, {count(warnings, 'warning')}"
    facts = [
        recording.format,
        clock(duration_s),
        count(len(recording.streams), "stream"),
        count(episodes, "episode"),
        size(recording.size_bytes),
    ]
    if report.session:
        facts.append(f"session {report.session}")
    if report.failed:
        facts.append(f"{count(len(report.failed), 'rule')} crashed")
    return tag(
        "header",
        tag("div", tag("h1", text(name)), tag("p", text(" \u00b7 ".join(facts)), class_="faint")),
        tag("div", text(verdict), class_=f"verdict {worst}"),
        _cards(report.findings, axes),
    )


def _cards(findings: Sequence[Finding], axes: Mapping[str, Axis]) -> str:
    """One card a rule that is broken, however often it is."""
    groups: dict[tuple[int, str], list[Finding]] = {}
    for finding in findings:
        if finding.severity.rank:
            groups.setdefault((-finding.severity.rank, finding.code), []).append(finding)
    ordered = [groups[key] for key in sorted(groups, key=lambda key: key[0])]
    advise = len(ordered) <= _FEW
    cards = [_card(group, axes, advise) for group in ordered[:_HEADLINES]]
    if rest := ordered[_HEADLINES:]:
        names = ", ".join(said_name(group[0]) for group in rest[:6])
        cards.append(tag("p", text(f"and below: {names}{' ...' if len(rest) > 6 else ''}"), class_="faint"))
    return tag("div", *cards, class_="cards")


def _card(group: Sequence[Finding], axes: Mapping[str, Axis], advise: bool) -> str:
    first = group[0]
    severity = first.severity.value
    where = tag("span", text(" \u00b7 ".join((*_of(first), *_place(first, axes)))), class_="where")
    lines = [tag("p", text(_sentence(first.message)))]
    if len(group) > 1:
        more = [_also(finding, first, axes) for finding in group[1 : 1 + _PLACES]]
        hidden = len(group) - 1 - len(more)
        also = [place for place in dict.fromkeys(more) if place] + [f"{hidden:,} more"] * bool(hidden)
        if also:
            lines.append(tag("p", text(f"also {'; '.join(also)}"), class_="faint"))
    if advise and first.fix:
        lines.append(tag("p", text(f"\u2192 {first.fix}"), class_="faint"))
    times = tag("span", text(f"\u00d7{len(group):,}"), class_="times") if len(group) > 1 else ""
    return tag(
        "div",
        tag("span", text(mark(severity)), class_=f"mark {severity}"),
        tag("div", tag("strong", text(said_name(first))), times, where, *lines),
        class_=f"card {severity}",
    )


def said_name(finding: Finding) -> str:
    """The rule's name in words."""
    return finding.name.replace("_", " ")


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]


def _of(finding: Finding) -> list[str]:
    """The stream, or the file where it is of none."""
    if finding.stream:
        return [finding.stream]
    return [finding.where.file.rsplit("/", 1)[-1]] if finding.where.file else []


def _also(finding: Finding, first: Finding, axes: Mapping[str, Axis]) -> str:
    """Another place of the same rule; the stream only where it is another one."""
    parts = _place(finding, axes)
    return " \u00b7 ".join(parts if finding.stream == first.stream else [*_of(finding), *parts])


def _place(finding: Finding, axes: Mapping[str, Axis]) -> list[str]:
    """Time on the timeline and episode, as the drawing below has them."""
    parts = []
    axis = next((axes[name] for name in (finding.stream or "").split(" -> ") if name in axes), None)
    if finding.start_ns is not None and axis is not None:
        start = max((finding.start_ns - axis.start_ns) / 1e9, 0.0)
        end = start if finding.end_ns is None else (finding.end_ns - axis.start_ns) / 1e9
        if start < 0.02 * axis.duration_s and end > 0.98 * axis.duration_s:
            parts.append("all along")
        else:
            parts.append(f"{clock(start)} to {clock(end)}" if end - start > 0.0005 else f"at {clock(start)}")
    if finding.episode is not None:
        parts.append(f"episode {finding.episode}")
    return parts
