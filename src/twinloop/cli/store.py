"""`twinloop store`: check that a store is whole, mend it, clear it, and make its catalog anew."""

from __future__ import annotations

import re
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
    wants_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from twinloop.store.fsck import Trouble

_UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    group = typer.Typer(help="Look after the store.", no_args_is_help=True)
    group.command("fsck")(fsck)
    group.command("rebuild")(rebuild)
    group.command("gc")(gc)
    app.add_typer(group, name="store")


def fsck(
    store: StoreOption = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Presence and sizes only; the content is not read.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be, from raw or from where raw files lay.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="MIRROR", help="With --repair: a mirror, or a folder of originals."),
    ] = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Find what is damaged or left over, say what to do, or mend it.

    Exit codes: 0 whole, or nothing but leftovers; 1 something is damaged, or the catalog is stale.
    """
    from rich.console import Console

    from twinloop.core.errors import UsageError
    from twinloop.store.fsck import check_store
    from twinloop.store.mending import repair as mend
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    if source and not repair:
        raise UsageError("--from says where to mend from", expected="--repair --from MIRROR")
    if repair and quick:
        raise UsageError("--quick reads no content, --repair all of it", expected="one of them")
    opened = Store.find(store)
    with Console(stderr=True).status("reading") as status:

        def tell(key: str) -> None:
            status.update(f"reading {key[-60:]}")

        if repair:
            done = mend(opened, source, tell)
            found: Sequence[Trouble] = done.left
        else:
            found = list(check_store(opened, quick=quick, progress=tell))
    if as_json:
        print_json({"mended": done.mended, "left": found} if repair else found)
    else:
        if repair:
            for act in done.mended:
                console().print(f"mended  {act.key}: {act.how}")
        _show(found, repair)
    say_next(_next(found, repair), as_json=as_json, store=store)
    if any(trouble.harm.value != "leftover" for trouble in found):
        raise typer.Exit(1)


def _show(found: Sequence[Trouble], repaired: bool) -> None:
    if not found:
        typer.echo("the store is whole")
        return
    if repaired:
        typer.echo("what is left:")
    table = plain_table("harm", "where", "what", "what to do")
    for trouble in found:
        table.add_row(trouble.harm.value, trouble.key, trouble.what, trouble.fix)
    console().print(table)


def _next(found: Sequence[Trouble], repaired: bool) -> str:
    """The command that does most about what was found."""
    fixes = [trouble.fix for trouble in found if trouble.harm.value == "damage"]
    if any(fix.startswith("twinloop erase --resume") for fix in fixes):
        return "twinloop erase --resume"
    if fixes and not repaired:
        mendable = any(fix.startswith("twinloop store fsck --repair") for fix in fixes)
        return "twinloop store fsck --repair" if mendable else fixes[0]
    if fixes:
        return fixes[0]
    harms = {trouble.harm.value for trouble in found}
    if "stale" in harms:
        return "twinloop store rebuild"
    return "twinloop store gc --dry-run" if harms else "twinloop ls"


def rebuild(store: StoreOption = None, format: FormatOption = "text", json: JsonOption = False) -> None:
    """Make the catalog anew from manifests, registry and journal."""
    from twinloop.store.queries import list_episodes, list_sessions
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    opened = Store.find(store)
    opened.catalog.rebuild()
    sessions, episodes = _count(list_sessions(opened.catalog)), _count(list_episodes(opened.catalog))
    if as_json:
        print_json({"sessions": sessions, "episodes": episodes})
    else:
        typer.echo(f"catalog made anew: {sessions} sessions, {episodes} episodes")
    say_next("twinloop ls", as_json=as_json, store=store)


def _count(rows: Iterator[object] | Sequence[object]) -> int:
    return sum(1 for _ in rows)


def gc(
    store: StoreOption = None,
    grace: Annotated[
        str, typer.Option("--grace", help="Only what is older goes: 90min, 12h, 1d... 0 for all.")
    ] = "1d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and take nothing.")] = False,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Take leftovers away: work of killed commands, files that nothing names. Safe beside running ingests."""
    from rich.console import Console

    from twinloop.store.gc import collect
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    grace_s = parse_duration(grace)
    opened = Store.find(store)
    with Console(stderr=True).status("reading") as status:
        done = collect(
            opened,
            grace_s=grace_s,
            dry_run=dry_run,
            progress=lambda key: status.update(f"reading {key[-60:]}"),
        )
    if as_json:
        print_json({"taken": done.taken, "left": done.left, "bytes": done.size, "dry_run": dry_run})
    else:
        if done.taken:
            table = plain_table("what goes" if dry_run else "gone", ">size", "why")
            for leftover in done.taken:
                table.add_row(leftover.key, megabytes(leftover.size), leftover.why)
            console().print(table)
        for left in done.left:
            typer.echo(f"left: {left}", err=True)
        typer.echo(f"{'would free' if dry_run else 'freed'} {done.size} bytes ({megabytes(done.size)})")
    say_next(
        "twinloop store gc" if dry_run and done.taken else "twinloop store fsck", as_json=as_json, store=store
    )


def parse_duration(text: str) -> float:
    """Seconds of ``90s``, ``15min``, ``12h``, ``1d``, or a bare 0.

    Raises:
        UsageError: it is none of these.
    """
    from twinloop.core.errors import UsageError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)", text.strip())
    if text.strip() == "0":
        return 0.0
    if match is None:
        raise UsageError(f"{text!r} is no duration", expected="a number and s, min, h or d: 12h")
    return float(match[1]) * _UNITS_S[match[2]]
