"""`twinloop export lerobot`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from twinloop.cli.export.command import Chosen, row_command


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("lerobot")(lerobot)


@row_command
def lerobot(
    rows: dict[str, Any],
    version: Annotated[
        str, typer.Option("--format-version", help="v3.0, or v2.1 (one file an episode).")
    ] = "v3.0",
    keep_mjpeg: Annotated[bool, typer.Option("--keep-mjpeg", help="Remux JPEG as it is.")] = False,
    codec: Annotated[
        str | None, typer.Option("--codec", help="Of what is re-encoded: h264, hevc or av1.")
    ] = None,
    gop: Annotated[
        int, typer.Option("--gop", min=1, max=10_000, help="Of what is re-encoded: images to a keyframe.")
    ] = 2,
    crf: Annotated[
        int | None,
        typer.Option("--crf", min=0, max=63, help="Of what is re-encoded: quality; lower is better."),
    ] = None,
    no_lead: Annotated[
        bool,
        typer.Option(
            "--no-lead", help="Keep no images before a cut off a keyframe: re-encode up to the next keyframe."
        ),
    ] = False,
    reencode: Annotated[bool, typer.Option("--reencode", help="Never remux.")] = False,
    causal: Annotated[
        bool, typer.Option("--causal", help="No image after its row, not by half a period either.")
    ] = False,
) -> Chosen:
    """Write a LeRobot dataset, the true times and an account of what was resampled beside it."""
    from twinloop.deliver.lerobot.export import export_lerobot
    from twinloop.deliver.lerobot.options import ExportOptions

    options = ExportOptions(
        **rows,
        version=version,
        keep_mjpeg=keep_mjpeg,
        causal=causal,
        keep_lead=not no_lead,
        reencode=reencode,
        codec=codec,
        gop=gop,
        crf=crf,
    )
    opens = 'LeRobotDataset("local", root="{out}") opens it'
    if version == "v2.1":
        opens += " in lerobot up to 0.3; later ones convert it"
    return Chosen(export_lerobot, options, opens)
