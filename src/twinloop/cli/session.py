"""`twinloop session`: join and split sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from twinloop.cli.options import StoreOption, say_next, short


def register(app: typer.Typer) -> None:
    """Add the verb."""
    group = typer.Typer(help="Join and split sessions.", no_args_is_help=True)
    group.command("join")(join)
    group.command("split")(split)
    app.add_typer(group, name="session")


def join(
    into: Annotated[str, typer.Argument(metavar="SESSION", help="The session that stays.")],
    others: Annotated[list[str], typer.Argument(metavar="OTHER...", help="Sessions that become part of it.")],
    store: StoreOption = None,
) -> None:
    """Make recordings of several sessions one session. Episodes keep their ids."""
    from twinloop.store.queries import resolve_session
    from twinloop.store.sessions import join_sessions
    from twinloop.store.store import Store

    opened = Store.find(store)
    ids = [resolve_session(opened.catalog, text) for text in (into, *others)]
    joined = join_sessions(opened, ids[0], ids[1:])
    typer.echo(
        f"session {short(joined.session)}: {len(joined.recordings)} recordings, {len(joined.episodes)} episodes"
    )
    say_next(f"twinloop show {short(joined.session)}", store=store)


def split(
    session: Annotated[str, typer.Argument(metavar="SESSION")],
    recording: Annotated[
        list[str] | None, typer.Option("--recording", metavar="HASH", help="To be moved; repeatable.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="Move all from here on: seconds from the session's start, or ISO 8601."),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Move recordings, or all from a time on, to a session of their own."""
    from twinloop.core.errors import UsageError
    from twinloop.store.queries import resolve_session
    from twinloop.store.sessions import split_session
    from twinloop.store.store import Store

    if bool(recording) == bool(at):
        raise UsageError("where to split?", expected="either --recording HASH or --at TIME")
    opened = Store.find(store)
    id = resolve_session(opened.catalog, session)
    at_ns = _time_ns(at, opened.session(id).streams.values()) if at else None
    made = split_session(opened, id, recordings=recording or (), at_ns=at_ns)
    typer.echo(
        f"session {short(made.session)}: {len(made.recordings)} recordings, {len(made.episodes)} episodes"
    )
    say_next(f"twinloop show {short(made.session)}", store=store)


def _time_ns(text: str, streams: object) -> int:
    from collections.abc import Iterable
    from datetime import UTC, datetime

    from twinloop.core.errors import UsageError

    assert isinstance(streams, Iterable)
    start = min((s.start_ns for s in streams if s.start_ns is not None), default=0)
    try:
        return start + round(float(text) * 1e9)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no time", expected="seconds (12.5), or 2026-01-05T10:00:00Z") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e9)
