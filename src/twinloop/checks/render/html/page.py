"""The page as a whole: the verdict and the timeline first, then everything else."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from twinloop import __version__
from twinloop.checks.render.html.joints import joint_plots, plots_title
from twinloop.checks.render.html.markup import tag, text
from twinloop.checks.render.html.pictures import camera_strips
from twinloop.checks.render.html.summary import head
from twinloop.checks.render.html.tables import (
    episode_table,
    feature_table,
    finding_table,
    reader_notes,
    rule_notes,
    stream_table,
)
from twinloop.checks.render.html.timeline import timeline
from twinloop.checks.render.html.times import read_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.core.clock import ClockModel
    from twinloop.core.finding import CheckReport
    from twinloop.core.mapping import Mapping
    from twinloop.core.recording import Recording
    from twinloop.core.session import Episode


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
    header = head(
        name,
        recording,
        report,
        duration_s=max((axis.duration_s for axis in axes.values()), default=0.0),
        episodes=len(episodes),
        axes={times.stream.name: axes[times.epoch] for times in streams if times.count},
    )
    sections = [
        _section("Timeline", timeline(streams, axes, findings, episodes), _LEGEND),
        _section("Cameras", camera_strips(recording, streams, axes)),
        _section(plots_title(recording, mapping), joint_plots(recording, mapping, findings, episodes)),
        _section("Streams", stream_table(streams), _INTERVALS),
        _section("Features", feature_table(mapping, streams)),
        _section("All findings", finding_table(findings)),
        _section("Rules that did not run", rule_notes(report), text("of these nothing is known: no pass")),
        _section("Notes of the reader", reader_notes(recording.notes)),
        _section("Episodes", episode_table(episodes)),
    ]
    package = files("twinloop.checks.render.html")
    style = tag("style", package.joinpath("page.css").read_text("utf-8"))
    script = tag("script", package.joinpath("page.js").read_text("utf-8"))
    metas = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="generator" content="twinloop">'
    )
    foot = tag(
        "footer",
        text(f"twinloop {__version__}. Times count from the first sample, unless an episode is named."),
    )
    page_head = tag("head", metas, tag("title", text(f"{name}: twinloop report")), style)
    body = tag("body", tag("main", header, *sections), foot, script)
    return f"<!doctype html>\n{tag('html', page_head, body, lang='en')}\n"


_LEGEND = (
    '<span class="swatch samples"></span> samples '
    '<span class="swatch gap"></span> nothing where samples should be '
    '<span class="mark error">\u2716</span> error <span class="mark warning">\u25b2</span> warning'
)
_INTERVALS = (
    'intervals: how often each occurs, logarithmic <span class="swatch period"></span> period '
    '<span class="swatch limit"></span> beyond this, a gap'
)


def _section(heading: str, content: str, legend: str = "") -> str:
    """A section; `legend` is markup. Empty where there is nothing to show."""
    if not content:
        return ""
    beside = tag("span", legend, class_="legend") if legend else ""
    return tag("section", tag("h2", text(heading), beside), content)
