"""Small charts: intervals between samples, and joints over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.render.html.markup import svg, tag, text, title
from twinloop.checks.render.html.words import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_HISTOGRAM = (220.0, 44.0)
_BARS = 44
_JOINT = (370.0, 110.0)
_COLUMNS = 360


def interval_histogram(intervals_ms: NDArray[np.float32], period_ms: float, limit_periods: float) -> str:
    """How often each interval occurs (logarithmic), with the period and the limit of a gap marked."""
    width, height = _HISTOGRAM
    end = max(limit_periods * 1.25 * period_ms, 1e-9)
    counts, _ = np.histogram(np.clip(intervals_ms, 0, end), bins=_BARS, range=(0, end))
    scale = np.log1p(counts) / max(np.log1p(counts.max()), 1e-9)
    bar = width / _BARS
    path = "".join(
        f"M{i * bar:.1f} {height:.0f}v{-height * s:.1f}h{bar * 0.85:.1f}V{height:.0f}Z"
        for i, s in enumerate(scale)
        if s
    )
    over = int((intervals_ms > limit_periods * period_ms).sum())
    said = f"period {period_ms:.3f} ms; {over} intervals over {limit_periods:g} periods (right of the red line)"
    x = [width * value / end for value in (period_ms, limit_periods * period_ms)]
    return svg(
        width,
        height,
        title(said),
        tag("path", d=path, class_="bars"),
        tag("line", x1=x[0], x2=x[0], y1=0, y2=height, class_="period"),
        tag("line", x1=x[1], x2=x[1], y1=0, y2=height, class_="limit"),
        class_="histogram",
    )


def joint_chart(
    name: str,
    state: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    action: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    unit: str,
    spans: Sequence[tuple[float, float, str]] = (),
) -> str:
    """One joint: state and action, each (times in seconds, values), as bands of least and greatest.

    `spans`: (start, end) in seconds and severity of what is wrong with it, shaded.
    """
    width, height = _JOINT
    series = [s for s in (state, action) if s is not None and np.isfinite(s[1]).any()]
    if not series:
        return ""
    low = min(float(np.nanmin(s[1])) for s in series)
    high = max(float(np.nanmax(s[1])) for s in series)
    margin = max((high - low) * 0.06, 1e-9)
    start, end = min(s[0][0] for s in series), max(s[0][-1] for s in series)
    box = (float(start), float(max(end - start, 1e-9)), low - margin, high - low + 2 * margin)
    parts = [_shade(span, box) for span in spans]
    for values, style in ((action, "action"), (state, "state")):
        if values is not None:
            parts.append(tag("path", d=_band(*values, box), class_=style))
    parts += [
        tag("text", text(f"{high:.4g}"), x=width - 2, y=12, class_="extent"),
        tag("text", text(f"{low:.4g} {unit}"), x=width - 2, y=height - 4, class_="extent"),
        tag("text", text(clock(box[1])), x=3, y=height - 4, class_="extent long"),
    ]
    figure = svg(width, height, *parts, class_="joint", aria_label=f"{name} over time")
    return tag("figure", tag("figcaption", text(name)), figure)


def _shade(span: tuple[float, float, str], box: tuple[float, float, float, float]) -> str:
    width, height = _JOINT
    start, reach = box[:2]
    left, right = ((min(max(t, start), start + reach) - start) / reach * width for t in span[:2])
    return tag("rect", x=left - 1, y=0, width=right - left + 2, height=height, class_=f"finding {span[2]}")


def _band(
    times: NDArray[np.float64], values: NDArray[np.float64], box: tuple[float, float, float, float]
) -> str:
    """A line where columns hold one value, else from least to greatest in each column."""
    width, height = _JOINT
    start, span, low, reach = box
    column = np.clip(((times - start) / span * (_COLUMNS - 1)).astype(np.int64), 0, _COLUMNS - 1)
    good = np.isfinite(values)
    column, values = column[good], values[good]
    if not len(values):
        return ""
    order = np.argsort(column, kind="stable")
    column, values = column[order], values[order]
    first = np.flatnonzero(np.concatenate([[True], np.diff(column) > 0]))
    least, greatest = np.minimum.reduceat(values, first), np.maximum.reduceat(values, first)
    x = column[first] / (_COLUMNS - 1) * width
    y_low, y_high = (height - (edge - low) / reach * height for edge in (least, greatest))
    points = [
        f"{a:.1f} {b:.1f}" + (f"V{c:.1f}" if abs(b - c) > 0.3 else "")
        for a, b, c in zip(x, y_low, y_high, strict=True)
    ]
    return "M" + "L".join(points)
