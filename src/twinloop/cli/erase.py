"""`twinloop erase`: a person's right to have what was recorded of them gone, from every copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from twinloop.cli.options import (
    FormatOption,
    JsonOption,
    StoreOption,
    console,
    megabytes,
    plain_table,
    print_json,
    say_next,
    short,
    wants_json,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.store.erase.erase import Pending
    from twinloop.store.erase.plan import Plan
    from twinloop.store.store import Store


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("erase")(erase)


def erase(
    store: StoreOption = None,
    subject: Annotated[
        str | None,
        typer.Option(
            "--subject", metavar="NAME", help="All of a person: as operator, or subject of a consent."
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="A session, and all joined into it.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Stays for good: name nobody in it.")] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Finish what was interrupted, or waits for a mirror.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and do nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Erase for good, here and in every mirror that is remembered. It cannot be undone.

    Raw files, artefacts, earlier revisions, quarantine, words in the journal and the catalog's rows go;
    tombstones (hash, time, author, reason) stay, so that nothing comes back. Exit code 3 if a mirror could
    not be reached: the erasure waits for it.
    """
    from twinloop.core.errors import UsageError
    from twinloop.store.erase.erase import erase as carry_out
    from twinloop.store.erase.erase import resume as finish
    from twinloop.store.erase.plan import plan_session, plan_subject
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    if sum((subject is not None, session is not None, resume)) != 1:
        raise UsageError("what is to be erased?", expected="one of --subject NAME, --session ID, --resume")
    opened = Store.find(store)
    if resume:
        _finish(finish(opened), None, as_json, store)
        return
    if session is not None:
        plan = plan_session(opened, _session(opened, session), reason)
    else:
        plan = plan_subject(opened, subject or "", reason)
    if as_json and not (yes or dry_run):
        raise UsageError("with --json nobody can be asked", expected="--yes or --dry-run")
    if not as_json:
        _show(plan)
    if dry_run:
        if as_json:
            print_json({"plan": plan, "pending": [], "dry_run": True})
        say_next("the same command without --dry-run", as_json=as_json, store=store)
        return
    if not (yes or typer.confirm("Erase this for good?")):
        typer.echo("nothing was erased")
        say_next("twinloop ls", store=store)
        raise typer.Exit(1)
    _finish(carry_out(opened, plan.order), plan, as_json, store)


def _session(store: Store, text: str) -> str:
    """The session that is meant, and no other that it was joined into."""
    from twinloop.core.errors import StoreError, UsageError
    from twinloop.store.erase.erase import is_interrupted
    from twinloop.store.queries import resolve_session

    try:
        id = resolve_session(store.catalog, text)
    except StoreError:
        if not is_interrupted(store, text):
            raise
        what = f"the erasure of {text} was interrupted"
        raise StoreError(what, where=store.url, fix="twinloop erase --resume") from None
    if text != "last" and not (id.startswith(text.upper()) or id.endswith(text.upper())):
        raise UsageError(
            f"the session {text} was joined into {id}, which holds more",
            fix=f"erase that one, or take the recordings out of it first: twinloop session split {short(id)}",
        )
    return id


def _show(plan: Plan) -> None:
    if plan.going:
        table = plain_table("session", "recording", ">size", ">episodes", ">of others")
        for going in plan.going:
            others = str(going.others or "")
            table.add_row(short(going.session), going.name, megabytes(going.size), str(going.episodes), others)
        console().print(table)
    for key in plan.facts:
        typer.echo(f"goes too: {key}")
    if plan.shared:
        typer.echo(f"{len(plan.shared)} raw files stay: another session holds them too")
    for url in plan.originals:
        typer.echo(f"outside the store, for you to delete: {url}")


def _finish(pending: Sequence[Pending], plan: Plan | None, as_json: bool, store: str | None) -> None:
    if as_json:
        print_json({"plan": plan, "pending": pending, "dry_run": False})
    else:
        typer.echo("erased" if plan else "every erasure is finished in this store")
        for one in pending:
            typer.echo(f"waits for the mirror {one.mirror}: {one.why}", err=True)
    say_next("twinloop erase --resume" if pending else "twinloop store fsck", as_json=as_json, store=store)
    if pending:
        raise typer.Exit(3)
