"""`twinloop ls`: the sessions of the store."""

from __future__ import annotations

from typing import Annotated

import typer

from twinloop.cli.options import (
    TABLE_ROWS,
    FormatOption,
    JsonOption,
    LimitOption,
    StoreOption,
    console,
    megabytes,
    plain_table,
    print_json,
    say_cut,
    say_next,
    short,
    wants_json,
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("ls")(ls)


def ls(
    store: StoreOption = None,
    task: Annotated[str | None, typer.Option("--task")] = None,
    operator: Annotated[str | None, typer.Option("--operator")] = None,
    site: Annotated[str | None, typer.Option("--site")] = None,
    robot: Annotated[str | None, typer.Option("--robot")] = None,
    limit: LimitOption = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """List sessions, oldest first. An id may be shortened to its end, or be `last`."""
    from twinloop.store.queries import list_sessions
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    catalog = Store.find(store).catalog
    most = limit or (None if as_json else TABLE_ROWS)
    rows = list_sessions(catalog, task=task, operator=operator, site=site, robot=robot, limit=most)
    if as_json:
        print_json(rows)
    elif rows:
        table = plain_table(
            "session",
            "taken in",
            "task",
            "operator",
            ">length",
            ">size",
            ">episodes",
            ">errors",
            ">warnings",
            "from",
        )
        for row in rows:
            length = (
                f"{(row.end_ns - row.start_ns) / 1e9:.1f} s"
                if row.start_ns is not None and row.end_ns is not None
                else ""
            )
            table.add_row(
                short(row.id),
                (row.taken_at or "")[:16].replace("T", " "),
                row.task or "",
                row.operator or "",
                length,
                megabytes(row.bytes),
                f"{row.episodes - row.excluded}" + (f" (+{row.excluded} excluded)" if row.excluded else ""),
                str(row.errors),
                str(row.warnings),
                ", ".join(row.recordings) + (" (in part)" if row.lost else ""),
            )
        console().print(table)
        say_cut(len(rows), limit, "session")
    else:
        typer.echo("no session")
    say_next(
        f"twinloop show {short(rows[-1].id)}" if rows else "twinloop ingest PATH...",
        as_json=as_json,
        store=store,
    )
