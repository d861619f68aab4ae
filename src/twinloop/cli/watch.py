"""`twinloop watch`: take in whatever arrives, unattended."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from twinloop.cli.options import (
    FormatOption,
    JsonOption,
    StoreOption,
    one_line,
    print_json,
    say_next,
    short,
    wants_json,
)
from twinloop.cli.unattended import ending_on_signals, seconds, status_line

if TYPE_CHECKING:
    from twinloop.store.outcome import Outcome
    from twinloop.store.watch.watch import Tally


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("watch")(watch)


def watch(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Folders, s3://BUCKET/PREFIX, or inbox: what push sends."),
    ],
    store: StoreOption = None,
    once: Annotated[bool, typer.Option("--once", help="End when all that is there is taken in.")] = False,
    interval: Annotated[str, typer.Option("--interval", help="Time between two looks.")] = "2s",
    settle: Annotated[str, typer.Option("--settle", help="How long a file must not have changed.")] = "5s",
    grace: Annotated[
        str, typer.Option("--grace", help="After how long at rest an unfinished file is taken in as it is.")
    ] = "1h",
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes; default: one a core.")
    ] = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Take in whatever arrives, once it is complete; keep what cannot be read in quarantine.

    Goes on where it stopped, however it stopped; writes a digest of each day into the store. SIGTERM or
    Ctrl-C ends it after the files at hand. Exit codes: 0; 2 usage; 3 something in quarantine or not taken in.
    """
    from twinloop.engine.workers import import_ahead

    import_ahead(["twinloop.store.warm", "twinloop.store.watch.jobs"])  # while this process looks around

    from twinloop.store.store import Store
    from twinloop.store.watch.diary import Diary
    from twinloop.store.watch.sources import open_source
    from twinloop.store.watch.watch import Watch, WatchOptions

    as_json = wants_json(format, json)
    opened = Store.find(store)
    options = WatchOptions(workers or os.cpu_count() or 1, seconds(interval), once)
    with ExitStack() as stack, ending_on_signals() as stop:
        settle_s, grace_s = seconds(settle), seconds(grace)
        watched = [open_source(place, opened, settle_s, grace_s, stack) for place in dict.fromkeys(sources)]
        show, say = stack.enter_context(status_line())
        tally = Watch(
            opened,
            watched,
            options,
            Diary(opened),
            tell=lambda tally: show(_status(tally)),
            told=lambda name, outcome: None if as_json else say(_line(name, outcome)),
            stop=stop,
        ).run()
    if as_json:
        print_json(tally)
    else:
        typer.echo(_status(tally))
        for name, why in {**tally.unfinished, **tally.failing}.items():
            typer.echo(f"not taken in: {one_line(name)}: {why}")
    say_next("twinloop digest", as_json=as_json, store=store)
    left_out = tally.failing or tally.offline or (once and tally.unfinished)
    if tally.counts["quarantined"] or tally.counts["given_up"] or left_out:
        raise typer.Exit(3)


def _line(name: str, outcome: Outcome) -> str:
    said = f"{outcome.status.value:<11} {one_line(name)}"
    if outcome.session:
        said += f"  session {short(outcome.session)}"
    if outcome.quarantine:
        said += f"  quarantine/{outcome.quarantine}"
    if outcome.message:
        return f"{said}\n  {one_line(outcome.message.splitlines()[0])}"
    return said + "".join(f"\n  lost: {note.message} ({note.where})" for note in outcome.lost[:3])


def _status(tally: Tally) -> str:
    counts = tally.counts
    said = (
        f"{counts['stored']} stored, {counts['present']} there already, {counts['quarantined']} in quarantine; "
        f"{tally.busy} at work, {tally.queued} queued, {tally.settling} coming to rest, "
        f"{len(tally.unfinished)} unfinished, {len(tally.failing)} failing"
    )
    for trouble in (tally.offline, tally.undigested):
        said += f"; waiting: {one_line(trouble.splitlines()[0])}" if trouble else ""
    return said
