"""`twinloop store`: check that a store is whole, and make its catalog anew."""

from __future__ import annotations

from typing import Annotated

import typer

from twinloop.cli.options import (
    FormatOption,
    JsonOption,
    StoreOption,
    console,
    plain_table,
    print_json,
    say_next,
    wants_json,
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    group = typer.Typer(help="Look after the store.", no_args_is_help=True)
    group.command("fsck")(fsck)
    group.command("rebuild")(rebuild)
    app.add_typer(group, name="store")


def fsck(
    store: StoreOption = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Presence and sizes only; the content is not read.")
    ] = False,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Find what is damaged or left over, and say what to do. Exit code 1 if anything is."""
    from rich.console import Console

    from twinloop.store.fsck import check_store
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    opened = Store.find(store)
    progress = Console(stderr=True)
    with progress.status("reading") as status:
        found = list(
            check_store(opened, quick=quick, progress=lambda key: status.update(f"reading {key[-60:]}"))
        )
    if as_json:
        print_json(found)
    elif found:
        table = plain_table("harm", "where", "what", "what to do")
        for trouble in found:
            table.add_row(trouble.harm.value, trouble.key, trouble.what, trouble.fix)
        console().print(table)
    else:
        typer.echo("the store is whole")
    stale = any(trouble.harm.value == "stale" for trouble in found)
    say_next("twinloop store rebuild" if stale else "twinloop ls", as_json=as_json, store=store)
    if found:
        raise typer.Exit(1)


def rebuild(store: StoreOption = None) -> None:
    """Make the catalog anew from manifests, registry and journal."""
    from twinloop.store.queries import list_episodes, list_sessions
    from twinloop.store.store import Store

    opened = Store.find(store)
    opened.catalog.rebuild()
    sessions, episodes = list_sessions(opened.catalog), list_episodes(opened.catalog)
    typer.echo(f"catalog made anew: {len(sessions)} sessions, {len(episodes)} episodes")
    say_next("twinloop ls", store=store)
