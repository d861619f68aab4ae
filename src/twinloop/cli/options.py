"""Options and output that several verbs share."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console
    from rich.table import Table

    from twinloop.formats.reader import ReadOptions
    from twinloop.store.stored import StoredSession

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DIR|URL",
        help="A folder or s3://BUCKET/PREFIX; default: TWINLOOP_STORE, or the nearest folder from here up.",
    ),
]
FormatOption = Annotated[str, typer.Option("--format", help="text or json.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Short for --format json.")]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Only so many, the last; default: 1000 in a table, all in JSON."),
]
#: Rows of a table for people, unless --limit says more.
TABLE_ROWS = 1000


class Advance(Protocol):
    """Moves a bar."""

    def __call__(self, done: float, total: float = 1.0) -> None: ...


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


def print_json_list(items: Iterable[Any]) -> None:
    """As `print_json` of a list, one item after the other."""
    import msgspec

    opened = False
    for item in items:
        text = json.dumps(msgspec.to_builtins(item), indent=1).replace("\n", "\n ")
        typer.echo(f"{',' if opened else '['}\n {text}", nl=False)
        opened = True
    typer.echo("\n]" if opened else "[]")


def say_cut(shown: int, limit: int | None, noun: str) -> None:
    """Say so where a table ends because of its limit, not because there is no more."""
    if limit is None and shown == TABLE_ROWS:
        typer.echo(f"the last {shown} {noun}s; --limit shows more", err=True)


#: Verbs that look into a store.
_OF_STORE = re.compile(
    r"\btwinloop (?:ls|show|report|ingest|digest|erase|(?:store|session|episode|export) \w+)"
)


def say_next(command: str, *, as_json: bool = False, store: str | None = None) -> None:
    """Name the next sensible command; on standard error where standard output is JSON.

    Where the store was named by an option, the next command names it too.
    """
    if store:
        command = _OF_STORE.sub(lambda verb: f"{verb[0]} --store {quote(store)}", command)
    typer.echo(f"next: {command}", err=as_json)


def one_line(text: str) -> str:
    """A text with its line breaks and other unprintable characters escaped, so that it keeps to its place."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )


def console() -> Console:
    """A console on standard output; as wide as it needs when that is no terminal."""
    from rich.console import Console

    made = Console(highlight=False, markup=False)
    if not made.is_terminal:
        made.width = 10_000
    return made


def plain_table(*columns: str) -> Table:
    """A table without frames; columns named ``>x`` are aligned to the right. Cells keep to one line."""
    from rich.table import Table

    class OneLineCells(Table):
        def add_row(self, *cells: Any, **style: Any) -> None:
            super().add_row(*(one_line(cell) if isinstance(cell, str) else cell for cell in cells), **style)

    table = OneLineCells(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    return table


def is_path(what: str) -> bool:
    """Whether a word is a path, or looks like one, rather than the id of a session."""
    return Path(what).exists() or any(sign in what for sign in "/\\.")


def stored_session(what: str, store: str | None) -> StoredSession:
    """The session that a word means which is no path.

    Raises:
        UnreadableError: there is no store to look into either.
        TwinloopError: the store does not open, or has no such session.
    """
    from twinloop.core.errors import StoreError, UnreadableError
    from twinloop.store.store import Store

    try:
        opened = Store.find(store)
    except StoreError as error:
        if store:
            raise
        raise UnreadableError(
            f"{what!r} is no file or folder here, and no session: {error.what}",
            expected="a path, or the id of a session together with --store DIR|URL",
        ) from error
    return opened.session(what)


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
def progress(what: str) -> Iterator[Advance]:
    """A bar on standard error, on a terminal only; call what it gives with how much is done of how much."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total=1.0: bar.update(task, completed=done, total=total)


def short(id: str) -> str:
    """The end of a ULID: enough to tell it in a list, and to name it in a command."""
    return id[-8:].lower()


def megabytes(size: int) -> str:
    """A size in decimal units."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"
