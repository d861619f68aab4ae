"""A report for a terminal: what to do first, the worst first, one line for each place."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from twinloop.checks.wording import count, few
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from twinloop.core.finding import CheckReport, Finding, RuleNote

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
LISTED = 5


def print_report(report: CheckReport, console: Console, *, listed: int | None = LISTED) -> None:
    """Write a report: findings by severity and rule, then which rules did not run, then a summary.

    Args:
        listed: places shown for each rule; None: all.
    """
    for severity, of_severity in groupby(report.findings, key=lambda finding: finding.severity):
        for code, group in groupby(of_severity, key=lambda finding: finding.code):
            _print_rule(console, severity, code, list(group), listed)
    _print_notes(console, "did not run", report.not_run)
    _print_notes(console, "CRASHED", report.failed, "bold red")
    console.print(_summary(report), markup=False, highlight=False, soft_wrap=True)


def _print_rule(
    console: Console, severity: Severity, code: str, findings: list[Finding], listed: int | None
) -> None:
    style = _STYLE[severity]
    console.print(f"[{style}]{severity.value:7}[/] [bold]{code}[/] {findings[0].name}", highlight=False)
    shown = findings if listed is None else findings[:listed]
    for finding in shown:
        console.print(f"  {_place(finding)}", markup=False, highlight=False, soft_wrap=True)
        console.print(f"      {finding.message}", markup=False, highlight=False, soft_wrap=True)
    if more := len(findings) - len(shown):
        console.print(
            f"  and {count(more, 'place')} more{_in_episodes(findings)}", style="dim", highlight=False
        )
    for fix in dict.fromkeys(finding.fix for finding in shown if finding.fix):
        console.print(f"  fix: {fix}", style="green", markup=False, highlight=False, soft_wrap=True)
    console.print()


def _place(finding: Finding) -> str:
    parts = []
    if finding.episode is not None:
        parts.append(f"episode {finding.episode}")
    if finding.stream:
        parts.append(finding.stream)
    if span := _span(finding):
        parts.append(span)
    where = finding.where
    parts += [f"row {where.row}"] if where.row is not None else []
    parts += [f"byte {where.byte}"] if where.byte is not None else []
    if not parts and where.file:
        parts.append(where.file)
    if number := _number(finding):
        parts.append(number)
    if finding.confidence < 1:
        parts.append(f"confidence {finding.confidence:.2f}")
    return "  ".join(parts) or "the recording"


def _span(finding: Finding) -> str:
    if finding.start_s is None:
        return "" if finding.start_ns is None else f"{finding.start_ns} ns"
    if finding.end_s is None or finding.end_s == finding.start_s:
        return f"{finding.start_s:.3f} s"
    return f"{finding.start_s:.3f} to {finding.end_s:.3f} s"


def _number(finding: Finding) -> str:
    if finding.value is None:
        return ""
    unit = "" if finding.unit == "1" else f" {finding.unit}"
    limit = "" if finding.limit is None else f" (limit {finding.limit:g})"
    return f"{finding.value:g}{unit}{limit}"


def _in_episodes(findings: list[Finding]) -> str:
    episodes = {finding.episode for finding in findings if finding.episode is not None}
    return f"; in all in {count(len(episodes), 'episode')}" if len(episodes) > 1 else ""


def _print_notes(console: Console, what: str, notes: Iterable[RuleNote], style: str = "dim") -> None:
    """One line for each reason, with the rules that it holds for."""
    by_why: dict[str, list[str]] = {}
    for note in notes:
        by_why.setdefault(note.why, []).append(note.code)
    for why, codes in by_why.items():
        console.print(f"{what}: {few(codes, 8)}: {why}", style=style, markup=False, soft_wrap=True)


def _summary(report: CheckReport) -> str:
    numbers = Counter(finding.severity for finding in report.findings)
    parts = [count(numbers[severity], severity.value) for severity in (Severity.ERROR, Severity.WARNING)]
    parts.append(f"{numbers[Severity.INFO]} for information")
    text = f"{report.path}: {', '.join(parts)}"
    without = len({note.code for note in report.not_run})
    if without:
        text += f"; {count(without, 'rule')} did not run everywhere"
    if report.failed:
        text += f"; {count(len(report.failed), 'rule')} CRASHED"
    return text
