"""`twinloop mirror`: copy a store to another place, whole at every moment, every byte checked."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from twinloop.cli.options import FormatOption, JsonOption, megabytes, print_json, say_next, wants_json

_UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("mirror")(mirror)


def mirror(
    source: Annotated[str, typer.Argument(metavar="SRC", help="The store: a folder or URL.")],
    target: Annotated[str, typer.Argument(metavar="DST", help="Where the copy is, or will be.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Hash again what is there already; replace what is damaged.")
    ] = False,
    limit: Annotated[str | None, typer.Option("--limit", help="Bytes a second at most: 10MB/s.")] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Copy nothing: DST is gone for good, no erasure is to wait for it.")
    ] = False,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Copy a store. An interrupted command is finished by running it again.

    What was erased in SRC is erased in DST; what was erased in DST is not copied. Exit code 3 if something is
    damaged in SRC and was held back.
    """
    from rich.console import Console

    from twinloop.store.mirror.mirror import mirror as copy
    from twinloop.store.mirror.remembered import forget as forget_mirror
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    rate = parse_rate(limit) if limit else None
    opened = Store.open(source)
    if forget:
        gone = forget_mirror(opened.objects, target if "://" in target else str(Path(target).absolute()))
        if as_json:
            print_json(gone)
        else:
            typer.echo(f"{gone.url} is no mirror of this store any more")
        say_next(f"twinloop erase --resume --store {quote(source)}", as_json=as_json)
        return
    done_bytes = 0
    with Console(stderr=True).status("comparing") as status:

        def tell(key: str, size: int) -> None:
            nonlocal done_bytes
            done_bytes += size
            status.update(f"{megabytes(done_bytes)}: {key[-60:]}")

        done = copy(opened, Store.create(target), rate=rate, verify=verify, progress=tell)
    if as_json:
        print_json(done)
    else:
        for held in done.held:
            typer.echo(f"held back: {held}", err=True)
        typer.echo(f"copied {done.copied} objects, {megabytes(done.size)}; {done.there} were there already")
    command = "twinloop store fsck --repair --store " if done.held else "twinloop store fsck --store "
    say_next(command + quote(source if done.held else target), as_json=as_json)
    if done.held:
        raise typer.Exit(3)


def parse_rate(text: str) -> float:
    """Bytes a second of ``10MB/s``, ``500kB/s``...

    Raises:
        UsageError: it is no rate above 0.
    """
    from twinloop.core.errors import UsageError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(B|kB|MB|GB)(?:/s)?", text.strip())
    if match is None or not float(match[1]):
        raise UsageError(f"{text!r} is no rate", expected="a number and B/s, kB/s, MB/s or GB/s: 10MB/s")
    return float(match[1]) * _UNITS[match[2]]
