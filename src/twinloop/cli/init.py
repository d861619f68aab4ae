"""`twinloop init`: make a store."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from twinloop.cli.options import say_next


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("init")(init)


def init(
    place: Annotated[
        str,
        typer.Argument(metavar="DIR|URL", help="A new or empty folder, or s3://BUCKET/PREFIX; default: here."),
    ] = ".",
    catalog: Annotated[
        str | None,
        typer.Option("--catalog", metavar="URL", help="E.g. postgresql://user@host/db; default: SQLite."),
    ] = None,
) -> None:
    """Make a store in a folder or bucket. A store that is there already stays as it is."""
    from twinloop.store.store import Store

    store = Store.create(place, catalog)
    typer.echo(f"store: {store.url}")
    say_next(f"twinloop ingest --store {quote(place)} PATH...")
