"""`twinloop formats`: what can be read and written, and what each format keeps and loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from twinloop.deliver.exporter import Writable
    from twinloop.formats.reader import Reader


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("formats")(formats)


def formats(
    format: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
) -> None:
    """List the formats that can be read and written: what each keeps, loses, and needs to be installed."""
    from twinloop.core.errors import UnknownNameError
    from twinloop.deliver.exporter import writable
    from twinloop.formats.reader import FORMATS

    form = "json" if json else format
    if form not in ("text", "json"):
        raise UnknownNameError("format", form, ["text", "json"])
    if form == "json":
        from json import dumps

        listed = {"schema": 1, "formats": _described(FORMATS), "exports": _described(writable())}
        typer.echo(dumps(listed, indent=2))
        typer.echo("next: twinloop info PATH", err=True)
        return
    from rich.console import Console

    from twinloop.formats.summary.text import PIPED_WIDTH

    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print("[bold]Read[/bold] by twinloop info, check, ingest\n")
    console.print(_table(FORMATS), highlight=False)
    console.print("\n[bold]Written[/bold] by twinloop export NAME\n")
    console.print(_table(writable()), highlight=False)
    typer.echo("next: twinloop info PATH")


def _described(
    plugins: Iterable[tuple[str, Reader]] | Iterable[tuple[str, Writable]],
) -> list[dict[str, object]]:
    facts = ("title", "keeps", "loses", "extra")
    return [{"name": name, **{fact: getattr(plugin, fact) for fact in facts}} for name, plugin in plugins]


def _table(plugins: Iterable[tuple[str, Reader]] | Iterable[tuple[str, Writable]]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 1, 0), header_style="bold", pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    for title in ("what", "keeps", "loses"):
        table.add_column(title, ratio=1)
    table.add_column("install", no_wrap=True)
    for name, plugin in plugins:
        extra = f'pip install "twinloop\\[{plugin.extra}]"' if plugin.extra else "built in"
        table.add_row(name, plugin.title, plugin.keeps, plugin.loses, extra)
    return table
