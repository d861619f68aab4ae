"""Options and output that several verbs share."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.table import Table

    from twinloop.formats.reader import ReadOptions

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", help="The store; default: TWINLOOP_STORE, or the nearest one from here up."),
]
FormatOption = Annotated[str, typer.Option("--format", help="text or json.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Short for --format json.")]


def wants_json(format: str, json: bool) -> bool:
    """Whether JSON was asked for; UnknownNameError for a format that there is not."""
    from twinloop.core.errors import UnknownNameError

    if format not in ("text", "json"):
        raise UnknownNameError("format", format, ("text", "json"))
    return json or format == "json"


def print_json(data: Any) -> None:
    """Print dataclasses, dicts and lists as indented JSON on standard output."""
    import msgspec

    typer.echo(json.dumps(msgspec.to_builtins(data), indent=1))


def say_next(command: str, *, as_json: bool = False) -> None:
    """Name the next sensible command; on standard error where standard output is JSON."""
    typer.echo(f"next: {command}", err=as_json)


def console() -> Console:
    """A console on standard output; as wide as it needs when that is no terminal."""
    from rich.console import Console

    made = Console(highlight=False)
    if not made.is_terminal:
        made.width = 10_000
    return made


def plain_table(*columns: str) -> Table:
    """A table without frames; columns named ``>x`` are aligned to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    return table


def read_options(types: Path | None, mapping: Path | None) -> ReadOptions:
    """How to read a recording. A mapping file is a table's or one of features, by what it says."""
    from twinloop.core.mapping import load_mapping
    from twinloop.formats.reader import ReadOptions
    from twinloop.formats.table.sidecar import describes_table

    if mapping is None:
        return ReadOptions(types_dir=types)
    if describes_table(mapping):
        return ReadOptions(types_dir=types, table_mapping=mapping)
    return ReadOptions(types_dir=types, mapping=load_mapping(mapping))


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on standard error, on a terminal only; call what it gives with the share that is done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)


def short(id: str) -> str:
    """The end of a ULID: enough to tell it in a list, and to name it in a command."""
    return id[-8:].lower()


def megabytes(size: int) -> str:
    """A size in decimal units."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"
