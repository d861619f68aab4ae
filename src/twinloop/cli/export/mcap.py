"""`twinloop export mcap`: sessions as files that Foxglove and Rerun open."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, cast

import typer

from twinloop.cli.options import (
    FormatOption,
    JsonOption,
    StoreOption,
    print_json,
    progress,
    say_next,
    wants_json,
)

if TYPE_CHECKING:
    from twinloop.deliver.mcap.export import McapAccount
    from twinloop.deliver.mcap.own import Encoding

_ENCODINGS = ("ros2", "foxglove")


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("mcap")(mcap)


def mcap(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Sessions; default: all.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file NAME.mcap for one session, a folder for several.")
    ] = None,
    encoding: Annotated[
        str, typer.Option("--encoding", help="ros2: messages in CDR. foxglove: Foxglove's in protobuf.")
    ] = "ros2",
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Write raw pixels rather than encode images again (B-frames, rare codecs)."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    store: StoreOption = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Write sessions as MCAP files, every sample with its true times."""
    from twinloop.core.errors import UnknownNameError, UsageError
    from twinloop.deliver.mcap.export import export_mcap
    from twinloop.deliver.stored import stored_sources
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    if encoding not in _ENCODINGS:
        raise UnknownNameError("encoding", encoding, _ENCODINGS)
    if out is None:
        raise UsageError("where to?", expected="--out FILE.mcap, or --out FOLDER")
    sources = stored_sources(Store.find(store), ids or ())
    accounts = []
    for source in sources:
        path = out if out.suffix == ".mcap" and len(sources) == 1 else out / f"{source.session}.mcap"
        with progress(f"writing {path.name}") as advance:
            account = export_mcap(
                source,
                path,
                encoding=cast("Encoding", encoding),
                exact=exact,
                force=force,
                progress=advance,
            )
        accounts.append(account)
        if not as_json:
            _tell(account)
    if as_json:
        print_json(accounts)
    say_next(f"twinloop info {quote(accounts[0].path)}", as_json=as_json)


def _tell(account: McapAccount) -> None:
    streams, count = len(account.messages), sum(account.messages.values())
    typer.echo(f"{account.path}: {streams} stream{'s' * (streams != 1)}, {count} message{'s' * (count != 1)}")
    for name in account.encoded_again:
        typer.echo(f"  {name}: images encoded again as H.264 (--exact writes raw pixels)")
    for name, lost in account.lost_images.items():
        typer.echo(f"  {name}: {lost} images could not be read from the store; run `twinloop store fsck`")
