"""`twinloop push`: send finished recordings from a robot or rig to a store."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from twinloop.cli.options import (
    FormatOption,
    JsonOption,
    megabytes,
    one_line,
    print_json,
    say_next,
    wants_json,
)
from twinloop.cli.unattended import bytes_per_s, ending_on_signals, seconds, status_line

if TYPE_CHECKING:
    from twinloop.store.push.push import Tally


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("push")(push)


def push(
    spool: Annotated[Path, typer.Argument(metavar="SPOOL", help="The folder of finished recordings.")],
    store: Annotated[str, typer.Argument(metavar="STORE", help="A folder or s3://BUCKET/PREFIX.")],
    limit: Annotated[
        str | None, typer.Option("--limit", help="Bandwidth, such as 2MB/s; default: all there is.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Remove no local file, ever.")] = False,
    take_in: Annotated[
        bool, typer.Option("--take-in", help="Take the recordings in from here: no watch has to do it.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on when everything is sent.")] = False,
    interval: Annotated[str, typer.Option("--interval", help="Time between two looks.")] = "5s",
    settle: Annotated[str, typer.Option("--settle", help="How long a file must not have changed.")] = "5s",
    grace: Annotated[
        str, typer.Option("--grace", help="After how long at rest an unfinished file is sent as it is.")
    ] = "1h",
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Send recordings to a store's inbox: interventions and failures first, then the oldest.

    A file is removed here only after the store gave a receipt for exactly its bytes. A lost link is waited
    for; what was sent is not sent again. Exit codes: 0; 2 usage; 3 something was refused or cannot be read.
    """
    from twinloop.store.inbox.receive import receive
    from twinloop.store.push.push import Push, PushOptions
    from twinloop.store.push.spool import Spool
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    if not watch:
        Store.open(store)  # so that a wrong name is said at once, and not waited for
    options = PushOptions(
        limit=bytes_per_s(limit) if limit else None,
        keep=keep,
        stay=watch,
        interval_s=seconds(interval),
        take_in=(lambda key: receive(Store.open(store), key)) if take_in else None,
    )
    with ending_on_signals() as stop, status_line() as (show, _):
        tally = Push(
            Spool(spool, seconds(settle), seconds(grace)),
            lambda: Store.open(store).objects,
            options,
            tell=lambda tally: show(_status(tally)),
            stopped=stop.is_set,
            pause=stop.wait,
        ).run()
    if as_json:
        print_json(tally)
    else:
        typer.echo(_status(tally))
        for name, why in {**tally.refused, **tally.troubles}.items():
            typer.echo(f"stays here: {one_line(name)}: {why}")
    if tally.waiting:
        say_next(f"twinloop watch inbox --store {quote(store)}, then the same push again", as_json=as_json)
    else:
        say_next(f"twinloop ls --store {quote(store)}", as_json=as_json)
    if tally.refused or tally.troubles:
        raise typer.Exit(3)


def _status(tally: Tally) -> str:
    said = (
        f"{tally.sent} sent ({megabytes(tally.sent_bytes)}), {tally.confirmed} confirmed, {tally.removed} "
        f"removed here; {tally.waiting} waiting for their receipt, {tally.queued} to send, "
        f"{tally.unfinished} unfinished"
    )
    if tally.current:
        said += f"; sending {one_line(tally.current)}, {megabytes(tally.current_left)} left"
    return f"{said}; no link: {one_line(tally.offline)}" if tally.offline else said
