"""`twinloop demo`: everything once, on synthetic sessions with a planted fault."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from twinloop.cli.options import say_next, short


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to; an earlier demo there is replaced.")] = Path("demo"),
) -> None:
    """Record three synthetic sessions, take them in, check them, report, and export a dataset."""
    from twinloop.core.finding import Severity
    from twinloop.testing.demo import run_demo

    result = run_demo(folder, lambda step: typer.echo(f"- {step}"))
    typer.echo(f"\nplanted: {result.planted}\nfound:")
    for number, (session, report) in enumerate(result.reports, 1):
        bad = report.at_least(Severity.WARNING)
        typer.echo(
            f"  session {short(session)} (recordings/session-{number}.mcap): {len(bad) or 'nothing wrong'}"
        )
        for finding in bad:
            at = (
                ""
                if finding.start_s is None or finding.end_s is None
                else (f" from {finding.start_s:.2f} to {finding.end_s:.2f} s")
            )
            episode = "" if finding.episode is None else f" of episode {finding.episode}"
            typer.echo(
                f"    {finding.severity.value} {finding.code} {finding.name}: {finding.stream}{at}{episode}: "
                f"{finding.message}"
            )
    typer.echo(
        f"\nrecordings  {folder}/recordings\nstore       {result.store}\n"
        f"reports     {', '.join(str(page) for page in result.pages)}\ndataset     {result.dataset}\n"
    )
    say_next(f"open {result.pages[1]} in a browser; then: twinloop ls --store {quote(str(result.store))}")
