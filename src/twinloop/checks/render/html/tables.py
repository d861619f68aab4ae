"""The tables below the pictures: streams, features, findings, rules that did not run, episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.checks.render.html.charts import interval_histogram
from twinloop.checks.render.html.markup import tag, text
from twinloop.checks.render.html.times import GAP_PERIODS
from twinloop.checks.render.html.words import clock, mark, number, place, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from twinloop.checks.render.html.times import StreamTimes
    from twinloop.core.finding import CheckReport, Finding
    from twinloop.core.mapping import Mapping
    from twinloop.core.recording import ReadNote
    from twinloop.core.session import Episode

_MOST_ROWS = 500


def stream_table(streams: Sequence[StreamTimes]) -> str:
    """Every stream: what it is, how many samples at which rate, and how even its intervals are."""
    rows = []
    for times in streams:
        stream = times.stream
        span = (times.last_ns - times.first_ns) / 1e9
        rate = (times.count - 1) / span if times.count > 1 and span > 0 else None
        period = times.period_ns / 1e6 if times.period_ns else None
        kind = text(stream.kind.value) + tag("div", text(stream.type_name), class_="faint type")
        rows.append(
            (
                tag("b", text(stream.name)),
                kind,
                f"{times.samples:,}",
                "" if rate is None else f"{rate:.2f}",
                "" if stream.rate_hz is None else f"{stream.rate_hz:g}",
                clock(span) if times.count else "",
                text(size(stream.bytes)),
                text(stream.stamp_source.value),
                interval_histogram(times.intervals_ms, period, GAP_PERIODS) if period else "",
            )
        )
    columns = (
        "stream",
        "kind",
        ">samples",
        ">Hz",
        ">declared",
        ">span",
        ">size",
        "stamp",
        "intervals between samples",
    )
    return _table(columns, rows) if rows else ""


def feature_table(mapping: Mapping, streams: Sequence[StreamTimes]) -> str:
    """What becomes of each stream: the features, and those that no feature names."""
    rows = [
        (
            tag("b", text(f.name)),
            text(f.role.value),
            text(f.stream) + (tag("span", text(f" \u203a {f.field}"), class_="faint") if f.field else ""),
            text(", ".join(f.names)),
            text(f.unit),
            text(f.why),
        )
        for f in mapping.features
    ]
    used = {feature.stream for feature in mapping.features}
    rest = [times.stream.name for times in streams if times.stream.name not in used]
    table = _table(("feature", "role", "from", "elements", "unit", "why"), rows) if rows else ""
    if not rest:
        return table
    return table + tag("p", tag("b", text("In no feature")), text(f" (kept, not exported): {', '.join(rest)}"))


def finding_table(findings: Sequence[Finding]) -> str:
    """All findings with their numbers, limits, places and what to do."""
    rows = [
        (
            tag(
                "span", text(f"{mark(f.severity.value)} {f.severity.value}"), class_=f"mark {f.severity.value}"
            ),
            tag("b", text(f.code)) + text(f" {f.name.replace('_', ' ')}"),
            text(f.stream or (f.where.file or "").rsplit("/", 1)[-1]),
            text(place(f)),
            text(number(f)) + _confidence(f),
            text(f.message) + (tag("div", text(f"\u2192 {f.fix}"), class_="faint") if f.fix else ""),
        )
        for f in findings[:_MOST_ROWS]
    ]
    if not rows:
        return tag("p", text("None."))
    more = len(findings) - _MOST_ROWS
    note = tag("p", text(f"and {more:,} more: `twinloop check --all`"), class_="faint") if more > 0 else ""
    return _table(("", "rule", "stream", "where", "measured", "what it is, and what to do"), rows) + note


def _confidence(finding: Finding) -> str:
    if finding.confidence >= 1:
        return ""
    return tag("div", text(f"confidence {finding.confidence:.2f}"), class_="faint")


def rule_notes(report: CheckReport) -> str:
    """Rules that crashed or did not run, and why: that is no pass."""
    by_why: dict[str, list[str]] = {}
    for note in report.not_run:
        by_why.setdefault(note.why, []).append(note.code)
    return _list(
        [f"{n.code} CRASHED: {n.why}" for n in report.failed]
        + [f"{', '.join(dict.fromkeys(codes))}: {why}" for why, codes in by_why.items()]
    )


def reader_notes(notes: Iterable[ReadNote]) -> str:
    """What the reader could not read, and where."""
    return _list(
        f"{note.problem.value}: {note.message} ({note.where})"
        + (f"; {note.lost:,} samples lost" if note.lost else "")
        for note in notes
    )


def episode_table(episodes: Sequence[Episode]) -> str:
    """The episodes, with outcome, instruction, and why one is left out."""
    rows = [
        (
            str(e.index),
            clock(e.duration_s),
            text(e.outcome.value),
            text(e.instruction or ""),
            text(f"excluded: {e.excluded}" if e.excluded else ""),
        )
        for e in episodes[:_MOST_ROWS]
    ]
    return _table((">episode", ">length", "outcome", "instruction", ""), rows) if rows else ""


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    styles = ["n" if column.startswith(">") else None for column in columns]
    head = tag(
        "tr",
        *(tag("th", text(c.lstrip(">")), class_=s) for c, s in zip(columns, styles, strict=True)),
    )
    body = [
        tag("tr", *(tag("td", cell, class_=s) for cell, s in zip(row, styles, strict=True))) for row in rows
    ]
    return tag("table", tag("thead", head), tag("tbody", *body))


def _list(items: Iterable[str]) -> str:
    lines = [tag("li", text(item)) for item in items]
    shown = lines[:_MOST_ROWS]
    if len(lines) > len(shown):
        shown.append(tag("li", text(f"and {len(lines) - len(shown):,} more")))
    return tag("ul", *shown) if shown else ""
