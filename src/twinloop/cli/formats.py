"""`twinloop formats`: what can be read, and what each format keeps and loses."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("formats")(formats)


def formats(
    format: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
) -> None:
    """List the formats that can be read: what each keeps, what it loses, what to install for it."""
    from twinloop.core.errors import UnknownNameError
    from twinloop.formats.reader import FORMATS

    form = "json" if json else format
    if form not in ("text", "json"):
        raise UnknownNameError("format", form, ["text", "json"])
    if form == "json":
        from json import dumps

        listed = [
            {
                "name": name,
                "title": reader.title,
                "keeps": reader.keeps,
                "loses": reader.loses,
                "extra": reader.extra,
            }
            for name, reader in FORMATS
        ]
        typer.echo(dumps({"schema": 1, "formats": listed}, indent=2))
        typer.echo("next: twinloop info PATH", err=True)
        return
    from rich.console import Console
    from rich.table import Table

    from twinloop.formats.summary.text import PIPED_WIDTH

    table = Table(box=None, padding=(0, 2, 1, 0), header_style="bold", pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    for title in ("what", "keeps", "loses"):
        table.add_column(title, ratio=1)
    table.add_column("install", no_wrap=True)
    for name, reader in FORMATS:
        extra = f'pip install "twinloop\\[{reader.extra}]"' if reader.extra else "built in"
        table.add_row(name, reader.title, reader.keeps, reader.loses, extra)
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(table, highlight=False)
    typer.echo("next: twinloop info PATH")
