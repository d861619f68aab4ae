"""The timeline: one lane a stream, its samples, empty stretches in red, findings where they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.render.html.marks import finding_marks, has_marks
from twinloop.checks.render.html.markup import svg, tag, text, title
from twinloop.checks.render.html.times import BINS, Axis, StreamTimes
from twinloop.checks.render.html.words import clock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from twinloop.core.finding import Finding
    from twinloop.core.session import Episode

WIDTH, LABELS, RIGHT = 1180.0, 250.0, 20.0
LANE, BAND, TICKS = 24.0, 22.0, 24.0
#: Room above a lane's samples for the words of its findings.
WORDS = 15.0
_BAR = 15.0
_LONGEST_LABEL = 34


def timeline(
    streams: Sequence[StreamTimes],
    axes: dict[str, Axis],
    findings: Sequence[Finding],
    episodes: Sequence[Episode],
) -> str:
    """The drawing, with one block of lanes for each epoch."""
    blocks = []
    top = 0.0
    for epoch, axis in axes.items():
        lanes = [times for times in streams if times.epoch == epoch and times.count]
        block, top = _block(lanes, axis, top, findings, episodes, epoch if len(axes) > 1 else "")
        blocks.append(block)
    return svg(WIDTH, max(top, 1.0), *blocks, class_="timeline", aria_label="timeline of all streams")


def x_of(axis: Axis, time_ns: float) -> float:
    """Where a time is drawn."""
    return LABELS + axis.fraction(time_ns) * (WIDTH - LABELS - RIGHT)


def _block(
    lanes: list[StreamTimes],
    axis: Axis,
    top: float,
    findings: Sequence[Finding],
    episodes: Sequence[Episode],
    epoch: str,
) -> tuple[str, float]:
    inside = [e for e in episodes if e.start_ns <= axis.end_ns and e.end_ns >= axis.start_ns]
    head = BAND if inside else 0.0
    found = {
        times.stream.name: [f for f in findings if times.stream.name in (f.stream or "").split(" -> ")]
        for times in lanes
    }
    heights = [LANE + WORDS * has_marks(found[times.stream.name]) for times in lanes]
    height = head + sum(heights)
    parts = [_episodes(inside, axis, top, height)] if inside else []
    if epoch:
        parts.append(tag("text", text(f"clock: {epoch}"), x=0, y=top + 15, class_="faint"))
    bottom = top + head
    for times, lane_height in zip(lanes, heights, strict=True):
        bottom += lane_height
        parts.append(_lane(times, axis, bottom - LANE, found[times.stream.name]))
    parts.append(_ticks(axis, top + head, top + height))
    block = tag(
        "g",
        *parts,
        class_="block",
        data_left=LABELS,
        data_right=WIDTH - RIGHT,
        data_top=top + head,
        data_bottom=top + height,
        data_seconds=f"{axis.duration_s:.9g}",
    )
    return block, top + height + TICKS + 10


def _episodes(episodes: Sequence[Episode], axis: Axis, top: float, height: float) -> str:
    parts = []
    for episode in episodes:
        left, right = x_of(axis, episode.start_ns), x_of(axis, episode.end_ns)
        said = f"episode {episode.index}: {episode.duration_s:.2f} s, {episode.outcome.value}"
        if episode.instruction:
            said += f", {episode.instruction}"
        state = " excluded" if episode.excluded else ""
        parts.append(
            tag(
                "rect",
                title(said),
                x=left,
                y=top,
                width=max(right - left, 1.0),
                height=height,
                class_=f"episode e{episode.index % 2}{state}",
            )
        )
        if right - left > 24:
            name = f"episode {episode.index}" if right - left > 80 else str(episode.index)
            parts.append(tag("text", text(name), x=left + 5, y=top + 15, class_="faint"))
    return "".join(parts)


def _lane(times: StreamTimes, axis: Axis, top: float, findings: Sequence[Finding]) -> str:
    name = times.stream.name
    shown = name if len(name) <= _LONGEST_LABEL else "\u2026" + name[1 - _LONGEST_LABEL :]
    worst = min((f.severity.value for f in findings if f.severity.rank), default="", key=_rank)
    middle = top + LANE / 2
    parts = [
        tag("text", title(name), text(shown), x=LABELS - 10, y=middle + 4, class_=f"label {worst}"),
        tag("line", x1=LABELS, x2=WIDTH - RIGHT, y1=middle + _BAR / 2, y2=middle + _BAR / 2, class_="rule"),
        _samples(times, axis, middle),
    ]
    if times.period_ns:
        parts += [_gap(start, end, axis, middle) for start, end in times.gaps]
    line = middle - _BAR / 2 - 2
    parts += finding_marks(findings, partial(x_of, axis), line, WIDTH - RIGHT)
    return tag("g", *parts, class_="lane", data_name=name)


def _rank(severity: str) -> int:
    return ("error", "warning", "info").index(severity)


def _samples(times: StreamTimes, axis: Axis, middle: float) -> str:
    width = (WIDTH - LABELS - RIGHT) / BINS
    if times.period_ns is None:
        filled = np.flatnonzero(times.density)
        ticks = "".join(f"M{LABELS + (b + 0.5) * width:.1f} {middle - 6:.1f}v12" for b in filled)
        return tag("path", d=ticks, class_="sporadic")
    first, last = x_of(axis, times.first_ns), x_of(axis, times.last_ns)
    bottom = middle + _BAR / 2
    boxes = []
    for left, right, level in _runs(np.round(times.density * 8).astype(int)):
        start, end = max(LABELS + left * width, first), min(LABELS + right * width, last + 0.5)
        if level and end > start:
            boxes.append(f"M{start:.1f} {bottom:.1f}v{-_BAR * level / 8:.1f}H{end:.1f}V{bottom:.1f}Z")
    said = f"{times.stream.name}: {times.count:,} samples, every {times.period_ns / 1e6:.3f} ms"
    return tag("path", title(said), d="".join(boxes), class_="samples")


def _runs(levels: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """(first, last + 1, level) of each run of equal levels."""
    edges = np.flatnonzero(np.diff(levels)) + 1
    starts, ends = [0, *edges.tolist()], [*edges.tolist(), len(levels)]
    return ((a, b, int(levels[a])) for a, b in zip(starts, ends, strict=True))


def _gap(start: int, end: int, axis: Axis, middle: float) -> str:
    left, right = x_of(axis, start), x_of(axis, end)
    at = (start - axis.start_ns) / 1e9
    said = f"nothing for {(end - start) / 1e6:.0f} ms, from {clock(at)}"
    return tag(
        "rect",
        title(said),
        x=left,
        y=middle - _BAR / 2,
        width=max(right - left, 1.5),
        height=_BAR,
        class_="gap",
    )


def _ticks(axis: Axis, top: float, bottom: float) -> str:
    duration = axis.duration_s
    parts = []
    step = _nice(duration / 8)
    number = 0
    while number * step <= duration + 1e-9:
        x = LABELS + (WIDTH - LABELS - RIGHT) * (number * step / duration if duration else 0)
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        parts.append(
            tag(
                "text",
                text(_tick(number * step, duration)),
                x=x,
                y=bottom + 16,
                class_="tick",
            )
        )
        number += 1
        if not duration:
            break
    return "".join(parts)


def _tick(seconds: float, duration: float) -> str:
    if duration < 600:
        return f"{seconds:g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if duration < 3600 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def _nice(step: float) -> float:
    """A round step of at least `step` seconds: 1, 2 or 5 times a power of ten; minutes from half of one on."""
    if step <= 0:
        return 1.0
    if step > 20:
        return next(
            (float(s) for s in (30, 60, 120, 300, 600, 1200, 1800) if s >= step), np.ceil(step / 3600) * 3600.0
        )
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(f * power for f in (1, 2, 5, 10) if f * power >= step * 0.999))
