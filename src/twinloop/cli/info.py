"""`twinloop info`: what a file or folder holds."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from twinloop.cli.options import read_options

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("info")(info)


def info(
    path: Annotated[Path, typer.Argument(help="A recording: a file or a folder of any format.")],
    format: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    types: Annotated[
        Path | None, typer.Option("--types", help="Folder of message definitions, for bags without them.")
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", help="A table's mapping file, or a mapping of features to check against it."),
    ] = None,
) -> None:
    """Show what a recording holds: streams, rates, spans, clocks, stamp sources, sizes, episodes.

    The format is known by content, not by suffix. Only the index is read. Exit code 3: unreadable.
    """
    from twinloop.core.errors import UnknownNameError
    from twinloop.formats.reader import open_recording

    form = "json" if json else format
    if form not in ("text", "json"):
        raise UnknownNameError("format", form, ["text", "json"])
    options = read_options(types, mapping)
    with open_recording(path, options) as recording:
        if options.mapping is not None:
            from twinloop.formats.mapping.check import check_mapping

            check_mapping(options.mapping, recording, mapping)
        _show(recording, form, options)


def _show(recording: Recording, form: str, options: ReadOptions) -> None:
    following = f"next: twinloop check {quote(str(recording.path))}"
    if form == "json":
        from twinloop.formats.summary.json import render_json

        typer.echo(render_json(recording))
        typer.echo(following, err=True)
        return
    from rich.console import Console

    from twinloop.formats.reader import FORMATS
    from twinloop.formats.summary.text import PIPED_WIDTH, print_info

    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    print_info(recording, FORMATS.get(recording.format).title, console)
    if options.mapping is not None:
        console.print(f"\nthe mapping fits: {len(options.mapping.features)} features", highlight=False)
    console.print()
    console.print(following, style="dim", markup=False, highlight=False, soft_wrap=True)
