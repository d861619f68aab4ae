"""`twinloop map`: propose how streams become features and a recording becomes episodes, or check that."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from twinloop.cli.options import console, plain_table, say_next

if TYPE_CHECKING:
    from twinloop.formats.mapping.propose import Proposal


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("map")(map_streams)


def map_streams(
    path: Annotated[Path, typer.Argument(help="A recording.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the mapping here; default: print it.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", help="Check this mapping file against the recording instead.")
    ] = None,
    types: Annotated[
        Path | None, typer.Option("--types", help="Folder of message definitions, for bags without them.")
    ] = None,
) -> None:
    """Propose which topic is state, action, leader and camera, with the reasons; to be edited by hand."""
    from twinloop.core.errors import UsageError
    from twinloop.core.mapping import dump_mapping, load_mapping
    from twinloop.formats.mapping.check import check_mapping
    from twinloop.formats.mapping.episodes import cut_episodes
    from twinloop.formats.mapping.propose import propose_with_reasons
    from twinloop.formats.reader import ReadOptions, open_recording

    if check and out:
        raise UsageError("--check writes nothing", expected="either --check FILE or --out FILE")
    if out is not None and out.exists():
        raise UsageError("the file exists", where=str(out), fix="name another, or remove it: it may be edited")
    with open_recording(path, ReadOptions(types_dir=types)) as recording:
        if check:
            mapping = load_mapping(check)
            check_mapping(mapping, recording, check)
            episodes = len(cut_episodes(recording, mapping))
            typer.echo(f"{check} fits {path}: {len(mapping.features)} features, {episodes} episodes")
            say_next(f"twinloop ingest {quote(str(path))} --mapping {quote(str(check))}")
            return
        proposal = propose_with_reasons(recording)
    text = dump_mapping(proposal.mapping, [f"{name}: {why}" for name, why in proposal.left_out.items()])
    if out is None:
        typer.echo(text, nl=False)
        say_next(f"twinloop map {quote(str(path))} -o mapping.toml", as_json=True)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the mapping cannot be written: {error.strerror}", where=str(out)) from error
    _summarise(proposal)
    typer.echo(f"{out}: {len(proposal.mapping.features)} features, {len(proposal.left_out)} streams in none")
    say_next(f"edit {out}, then: twinloop map {quote(str(path))} --check {quote(str(out))}")


def _summarise(proposal: Proposal) -> None:
    """What was proposed, a line each, with why."""
    table = plain_table("feature", "from", "why")
    for feature in proposal.mapping.features:
        source = f"{feature.stream} {feature.field}" if feature.field else feature.stream
        table.add_row(feature.name, source, feature.why)
    table.add_row("episodes", proposal.mapping.episodes.by.value, proposal.mapping.episodes.why)
    console().print(table)
