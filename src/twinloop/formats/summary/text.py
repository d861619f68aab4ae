"""The facts of a recording for the terminal."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from twinloop.core.clock import Epoch
from twinloop.core.recording import Problem
from twinloop.formats.summary.facts import ClockSpan, StreamFacts, clock_spans, stream_facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from twinloop.core.recording import ReadNote, Recording

#: Lines of episodes, attachments, metadata and notes shown; JSON has them all.
_SHOWN = 12
#: Columns where the output goes to a file or another program.
PIPED_WIDTH = 160
#: Narrower terminals do without types, roles and clocks.
_WIDE = 118
_HARMLESS = frozenset({Problem.PATH, Problem.SCHEMA})


def print_info(recording: Recording, title: str, console: Console) -> None:
    """Print all that the index tells, most important first."""
    spans = clock_spans(recording)
    _print_head(recording, title, spans, console)
    _print_streams(recording, spans, console)
    _print_episodes(recording, console)
    _print_pairs(
        "attachments",
        [(a.name, f"{a.media_type}, {human_bytes(a.size)}") for a in recording.attachments],
        console,
    )
    _print_pairs("metadata", list(recording.metadata.items()), console)
    _print_pairs("calibration", [(name, "") for name in recording.calibration], console)
    _print_notes(recording.notes, console)


def human_bytes(size: int | None) -> str:
    """Bytes as people write them: 59.2 MB (decimal units)."""
    if size is None:
        return ""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def human_time(time_ns: int, epoch: Epoch) -> str:
    """A date in UTC for times since 1970, seconds for all others."""
    if epoch is Epoch.UNIX:
        try:
            date = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC)
        except (OverflowError, ValueError, OSError):
            return f"{time_ns / 1e9:.3f} s"
        return f"{date:%Y-%m-%d %H:%M:%S}.{time_ns % 1_000_000_000 // 1_000_000:03d} UTC"
    return f"{time_ns / 1e9:.3f} s"


def _print_head(recording: Recording, title: str, spans: list[ClockSpan], console: Console) -> None:
    files, streams = len(recording.files), len(recording.streams)
    console.print(f"[bold]{escape(str(recording.path))}[/]", soft_wrap=True, highlight=False)
    console.print(
        f"{escape(title)}, {human_bytes(recording.size_bytes)} in {files} file{'s' if files != 1 else ''}, "
        f"{streams} stream{'s' if streams != 1 else ''}",
        highlight=False,
    )
    for span in spans:
        start, end = (human_time(time, span.clock.epoch) for time in (span.start_ns, span.end_ns))
        console.print(
            f"{start} to {end}, [bold]{span.duration_s:.3f} s[/] on clock {span.clock.epoch.value}",
            highlight=False,
        )


def _print_streams(recording: Recording, spans: list[ClockSpan], console: Console) -> None:
    facts = stream_facts(recording)
    if not facts:
        return
    wide = console.width >= _WIDE
    starts = {span.clock.epoch: span.start_ns for span in spans}
    table = Table(box=None, padding=(0, 2 if wide else 1, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("stream", overflow="fold", min_width=16)
    table.add_column("kind", no_wrap=True)
    if wide:
        table.add_column("type", overflow="fold", style="dim")
    for name in ("count", "Hz", *(("from s", "to s") if wide else ("span s",)), "size"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("stamp", no_wrap=True)
    if wide:
        table.add_column("clock", style="dim")
    for one in facts:
        stream = one.stream
        role = f" [dim]{stream.role.value}[/]" if stream.role and wide else ""
        count = "" if stream.count is None else f"{stream.count:,}"
        cells = [escape(stream.name), stream.kind.value + role]
        if wide:
            cells.append(escape(stream.type_name))
        cells += [count, _rate(one)]
        if wide:
            cells += [
                "" if time is None else f"{(time - starts[one.clock.epoch]) / 1e9:.3f}"
                for time in (stream.start_ns, stream.end_ns)
            ]
        else:
            cells.append("" if one.span_s is None else f"{one.span_s:.2f}")
        cells += [human_bytes(stream.bytes), stream.stamp_source.value]
        if wide:
            cells.append(escape(f"{stream.timeline.removesuffix('_ns')} {one.clock}"))
        table.add_row(*cells)
    console.print()
    console.print(table, highlight=False)


def _rate(facts: StreamFacts) -> str:
    """The measured rate, and the declared one where it is another."""
    declared = facts.stream.rate_hz
    if facts.measured_hz is None:
        return "" if declared is None else f"[dim]{declared:.4g} declared[/]"
    measured = f"{facts.measured_hz:.3f}"
    return f"[yellow]{measured}, declared {declared:.4g}[/]" if facts.rates_differ else measured


def _print_episodes(recording: Recording, console: Console) -> None:
    episodes = recording.episodes
    if not episodes:
        return
    lengths = [(episode.end_ns - episode.start_ns) / 1e9 for episode in episodes]
    console.print()
    console.print(
        f"[bold]{len(episodes)} episode{'s' if len(episodes) != 1 else ''}[/] of {min(lengths):.2f} to "
        f"{max(lengths):.2f} s, {sum(lengths):.1f} s in all",
        highlight=False,
    )
    words = Counter(
        " ".join(filter(None, (episode.instruction or "(no instruction)", episode.outcome)))
        for episode in episodes
    )
    lines = (f"{count:>7} x {words}" for words, count in words.most_common())
    _print_lines(lines, len(words), console)


def _print_pairs(title: str, pairs: list[tuple[str, str]], console: Console) -> None:
    if not pairs:
        return
    console.print()
    console.print(f"[bold]{title}[/] [dim]({len(pairs)})[/]", highlight=False)
    room = max(20, console.width - 4)
    lines = (_cut(f"  {name}: {value}" if value else f"  {name}", room) for name, value in pairs)
    _print_lines(lines, len(pairs), console)


def _print_notes(notes: list[ReadNote], console: Console) -> None:
    if not notes:
        return
    console.print()
    console.print(f"[bold]notes of the reader[/] [dim]({len(notes)})[/]", highlight=False)
    for note in notes[:_SHOWN]:
        colour = "dim" if note.problem in _HARMLESS and not note.lost else "yellow"
        lost = (
            ""
            if note.lost == 0
            else f" ({'an unknown number of' if note.lost is None else note.lost} samples lost)"
        )
        console.print(f"  [{colour}]{note.problem.value}[/] {escape(note.message)}{lost}", highlight=False)
        place = str(note.where)
        if place != "unknown place":
            console.print(f"    [dim]{escape(place)}[/]", highlight=False, soft_wrap=True)
    _print_rest(len(notes), console)


def _print_lines(lines: Iterable[str], total: int, console: Console) -> None:
    for line, _ in zip(lines, range(_SHOWN), strict=False):
        console.print(line, markup=False, highlight=False)
    _print_rest(total, console)


def _print_rest(total: int, console: Console) -> None:
    if total > _SHOWN:
        console.print(f"  [dim]and {total - _SHOWN} more: --format json has all[/]", highlight=False)


def _cut(line: str, width: int) -> str:
    line = " ".join(line.split("\n"))
    return line if len(line) <= width else line[: width - 1] + "…"
