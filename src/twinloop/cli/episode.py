"""`twinloop episode`: list episodes, say how they ended, leave bad ones out, take that back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from twinloop.cli.options import (
    TABLE_ROWS,
    FormatOption,
    JsonOption,
    LimitOption,
    StoreOption,
    console,
    plain_table,
    print_json_list,
    say_cut,
    say_next,
    short,
    wants_json,
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    group = typer.Typer(help="List and edit episodes. Every edit can be undone.", no_args_is_help=True)
    group.command("ls")(ls)
    group.command("set")(set_facts)
    group.command("undo")(undo)
    app.add_typer(group, name="episode")


def ls(
    session: Annotated[str | None, typer.Argument(help="Of one session only.")] = None,
    store: StoreOption = None,
    task: Annotated[str | None, typer.Option("--task")] = None,
    outcome: Annotated[str | None, typer.Option("--outcome")] = None,
    excluded: Annotated[
        bool | None, typer.Option("--excluded/--included", help="Only those left out, or only the others.")
    ] = None,
    limit: LimitOption = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """List episodes, by session and number."""
    from twinloop.store.queries import each_episode, list_episodes, resolve_session
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    catalog = Store.find(store).catalog
    id = resolve_session(catalog, session) if session else None
    wanted: dict[str, Any] = {"session": id, "task": task, "outcome": outcome, "excluded": excluded}
    if as_json and limit is None:
        print_json_list(each_episode(catalog, **wanted))
        say_next("twinloop episode set ID --exclude REASON", as_json=True, store=store)
        return
    rows = list_episodes(catalog, **wanted, limit=limit or TABLE_ROWS)
    if as_json:
        print_json_list(rows)
    elif rows:
        table = plain_table("episode", ">length", "task", "operator", "outcome", "instruction", "excluded")
        for row in rows:
            table.add_row(
                f"{short(row.session)}/{row.number}",
                f"{row.duration_s:.2f} s",
                row.task or "",
                row.operator or "",
                row.outcome,
                row.instruction or "",
                row.excluded or "",
            )
        console().print(table)
        say_cut(len(rows), limit, "episode")
    else:
        typer.echo("no episode")
    where = f"{short(rows[0].session)}/{rows[0].number}" if rows else "ID"
    say_next(f"twinloop episode set {where} --exclude REASON", as_json=as_json, store=store)


def set_facts(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="Episodes: an id, SESSION/3, SESSION/3-7, or SESSION/*."),
    ],
    store: StoreOption = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", help="success, failure, aborted, unknown.")
    ] = None,
    instruction: Annotated[str | None, typer.Option("--instruction")] = None,
    exclude: Annotated[
        str | None, typer.Option("--exclude", metavar="REASON", help="Leave them out of datasets.")
    ] = None,
    include: Annotated[bool, typer.Option("--include", help="Take them back in.")] = False,
) -> None:
    """Say how episodes ended, what was to be done, or that they are to be left out."""
    from twinloop.core.errors import UsageError
    from twinloop.store.queries import resolve_episodes
    from twinloop.store.sources import parse_outcome
    from twinloop.store.store import Store

    if exclude is not None and include:
        raise UsageError("--exclude and --include contradict each other")
    if exclude is not None and not exclude.strip():
        raise UsageError("--exclude needs a reason", expected='--exclude "gripper slipped"')
    opened = Store.find(store)
    entries = opened.edit_episodes(
        resolve_episodes(opened.catalog, ids),
        outcome=parse_outcome(outcome),
        instruction=instruction,
        exclude=exclude,
        include=include,
    )
    typer.echo(f"{len(entries)} episode{'s' * (len(entries) != 1)} changed")
    say_next(
        f"twinloop episode undo {entries[0].command} takes it back" if entries else "twinloop episode ls",
        store=store,
    )


def undo(
    command: Annotated[
        str | None, typer.Argument(help="What to take back, as `set` named it; default: the last change.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Take a change back. An undo can itself be undone."""
    from twinloop.core.errors import UsageError
    from twinloop.store.edits import EPISODE
    from twinloop.store.journal import effective
    from twinloop.store.store import Store

    opened = Store.find(store)
    entries = opened.journal.entries()
    if command is None:
        last = next((e for e in reversed(effective(entries)) if e.kind == EPISODE), None)
        if last is None:
            raise UsageError("there is no change to take back")
        command = last.command
    told = [entry for entry in entries if command.upper() in (entry.command, entry.id)]
    if not told:
        raise UsageError(f"there is no change {command!r}", expected="an id that `twinloop episode set` named")
    undone = opened.undo(command.upper())
    changes = {name for entry in told for name in entry.data}
    typer.echo(
        f"taken back: {', '.join(sorted(changes)) or 'an undo'} of {len(told)} episode{'s' * (len(told) != 1)}"
    )
    say_next(f"twinloop episode undo {undone[0].command} brings it back", store=store)
