"""The page as a whole: the verdict and the timeline first, then everything else."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING

from twinloop import __version__
from twinloop.checks.render.html.charts import interval_histogram
from twinloop.checks.render.html.joints import joint_plots
from twinloop.checks.render.html.markup import tag, text
from twinloop.checks.render.html.pictures import camera_strips
from twinloop.checks.render.html.timeline import timeline
from twinloop.checks.render.html.times import GAP_PERIODS, Axis, StreamTimes, read_times
from twinloop.checks.render.html.words import count, mark, number, place, size
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.core.clock import ClockModel
    from twinloop.core.finding import CheckReport, Finding
    from twinloop.core.mapping import Mapping
    from twinloop.core.recording import Recording
    from twinloop.core.session import Episode

_HEADLINES = 4
_MOST_FINDINGS = 500


def render_html(
    recording: Recording,
    report: CheckReport,
    *,
    mapping: Mapping,
    episodes: Sequence[Episode],
    clock_models: tuple[ClockModel, ...] = (),
    title: str | None = None,
) -> str:
    """One self-contained HTML page. Reads the recording stream by stream; large recordings are thinned.

    Args:
        title: what the page is called; None: as the recording's file.

    Raises:
        TwinloopError: the recording cannot be read any more.
    """
    streams, axes = read_times(recording, clock_models)
    findings = sorted(report.findings, key=lambda f: -f.severity.rank)
    name = title or recording.path.resolve().name
    duration_s = max((axis.duration_s for axis in axes.values()), default=0.0)
    on_axis = {t.stream.name: axes[t.epoch] for t in streams if t.count}
    sections = [
        _head(name, recording, report, findings, episodes, duration_s, on_axis),
        _section("Timeline", timeline(streams, axes, findings, episodes), _LEGEND),
        _section("Cameras", camera_strips(recording, streams, axes)),
        _section("Joints", joint_plots(recording, mapping)),
        _section("Streams", _stream_table(streams, mapping)),
        _section("All findings", _finding_table(findings)),
        _section("What did not run", _rule_notes(report)),
        _section(
            "Notes of the reader", _list(f"{n.problem.value}: {n.message} ({n.where})" for n in recording.notes)
        ),
        _section("Episodes", _episode_table(episodes)),
    ]
    style = files("twinloop.checks.render.html").joinpath("page.css").read_text()
    head = tag("meta", charset="utf-8").replace("</meta>", "") + (
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        + tag("title", text(f"{name}: twinloop report"))
        + tag("style", style)
    )
    foot = tag(
        "footer",
        text(f"twinloop {__version__}. Times are seconds from the first sample, unless an episode is named."),
    )
    body = tag("body", tag("main", *sections), foot)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>{body}</html>\n'


_LEGEND = (
    '<span class="swatch samples"></span> samples '
    '<span class="swatch gap"></span> nothing where samples should be '
    '<span class="mark error">\u2716</span> error <span class="mark warning">\u25b2</span> warning'
)


def _section(heading: str, content: str, legend: str = "") -> str:
    if not content:
        return ""
    beside = tag("span", legend, class_="legend") if legend else ""
    return tag("section", tag("h2", text(heading), beside), content)


def _head(
    name: str,
    recording: Recording,
    report: CheckReport,
    findings: Sequence[Finding],
    episodes: Sequence[Episode],
    duration_s: float,
    on_axis: dict[str, Axis],
) -> str:
    counts = Counter(finding.severity for finding in findings)
    errors, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
    worst = "error" if errors else "warning" if warnings else "good"
    verdict = (
        f"{count(errors, 'error')}, {count(warnings, 'warning')}"
        if errors or warnings
        else "nothing wrong found"
    )
    facts = [
        recording.format,
        f"{duration_s:.1f} s",
        count(len(recording.streams), "stream"),
        count(len(episodes), "episode"),
        size(recording.size_bytes),
    ]
    if report.session:
        facts.append(f"session {report.session}")
    if report.failed:
        facts.append(f"{count(len(report.failed), 'rule')} crashed")
    bad = [finding for finding in findings if finding.severity.rank]
    cards = [_card(finding, on_axis) for finding in bad[:_HEADLINES]]
    if len(bad) > _HEADLINES:
        cards.append(tag("p", text(f"and {len(bad) - _HEADLINES} more below"), class_="faint"))
    return tag(
        "header",
        tag("div", tag("h1", text(name)), tag("p", text(" \u00b7 ".join(facts)), class_="faint")),
        tag("div", text(verdict), class_=f"verdict {worst}"),
        tag("div", *cards, class_="cards"),
    )


def _card(finding: Finding, on_axis: dict[str, Axis]) -> str:
    severity = finding.severity.value
    axis = on_axis.get(finding.stream or "")
    at = ""
    if axis and finding.episode is not None and finding.start_ns is not None:
        at = f"{(finding.start_ns - axis.start_ns) / 1e9:.2f} s on the timeline"
    where = " \u00b7 ".join(part for part in (finding.stream or "", place(finding), at) if part)
    message = finding.message[:1].upper() + finding.message[1:]
    return tag(
        "div",
        tag("span", text(mark(severity)), class_=f"mark {severity}"),
        tag(
            "div",
            tag("strong", text(finding.name.replace("_", " "))),
            tag("span", text(f" {where}"), class_="where"),
            tag("p", text(message)),
        ),
        class_=f"card {severity}",
    )


def _stream_table(streams: Sequence[StreamTimes], mapping: Mapping) -> str:
    features = {feature.stream: feature.name for feature in mapping.features}
    rows = []
    for times in streams:
        stream = times.stream
        span = (times.last_ns - times.first_ns) / 1e9
        rate = (times.count - 1) / span if times.count > 1 and span > 0 else None
        period = times.period_ns / 1e6 if times.period_ns else None
        rows.append(
            (
                text(stream.name),
                text(features.get(stream.name, "in no feature")),
                text(stream.kind.value),
                f"{times.count:,}",
                "" if rate is None else f"{rate:.2f}",
                "" if stream.rate_hz is None else f"{stream.rate_hz:g}",
                text(stream.stamp_source.value),
                interval_histogram(times.intervals_ms, period, GAP_PERIODS) if period else "",
            )
        )
    return _table(("stream", "feature", "kind", ">samples", ">Hz", ">declared", "stamp", "intervals"), rows)


def _finding_table(findings: Sequence[Finding]) -> str:
    rows = [
        (
            tag("span", text(mark(f.severity.value)), class_=f"mark {f.severity.value}")
            + text(f" {f.severity.value}"),
            text(f"{f.code} {f.name}"),
            text(f.stream or ""),
            text(place(f)),
            text(number(f)),
            text(f.message) + (tag("div", text(f.fix), class_="faint") if f.fix else ""),
        )
        for f in findings[:_MOST_FINDINGS]
    ]
    more = len(findings) - _MOST_FINDINGS
    note = tag("p", text(f"and {more} more: `twinloop check --all`"), class_="faint") if more > 0 else ""
    return (
        _table(("", "rule", "stream", "where", "measured", "what, and what to do"), rows) + note if rows else ""
    )


def _rule_notes(report: CheckReport) -> str:
    return _list(
        [f"{n.code} CRASHED: {n.why}" for n in report.failed] + [f"{n.code}: {n.why}" for n in report.not_run]
    )


def _episode_table(episodes: Sequence[Episode]) -> str:
    rows = [
        (
            str(e.index),
            f"{e.duration_s:.2f} s",
            text(e.outcome.value),
            text(e.instruction or ""),
            text(f"excluded: {e.excluded}" if e.excluded else ""),
        )
        for e in episodes[:_MOST_FINDINGS]
    ]
    return _table((">episode", ">length", "outcome", "instruction", ""), rows) if rows else ""


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    right = [column.startswith(">") for column in columns]
    head = tag(
        "tr",
        *(
            tag("th", text(c.lstrip(">")), class_="n" if r else None)
            for c, r in zip(columns, right, strict=True)
        ),
    )
    body = [
        tag("tr", *(tag("td", cell, class_="n" if r else None) for cell, r in zip(row, right, strict=True)))
        for row in rows
    ]
    return tag("table", tag("thead", head), tag("tbody", *body))


def _list(items: object) -> str:
    from collections.abc import Iterable

    assert isinstance(items, Iterable)
    lines = [tag("li", text(item)) for item in items]
    return tag("ul", *lines) if lines else ""
