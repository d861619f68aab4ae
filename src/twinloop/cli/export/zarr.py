"""`twinloop export zarr`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from twinloop.cli.export.command import Chosen, Float32Option, row_command


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("zarr")(zarr)


@row_command
def zarr(
    rows: dict[str, Any],
    zarr_format: Annotated[
        int, typer.Option("--zarr-format", min=2, max=3, help="2 (what UMI reads) or 3.")
    ] = 2,
    level: Annotated[int, typer.Option("--level", min=0, max=9, help="Of Blosc's zstd; 0: none.")] = 1,
    float32: Float32Option = False,
) -> Chosen:
    """Write Zarr as diffusion policy and UMI keep it: a folder, or one file where --out ends in .zip."""
    from twinloop.deliver.zarr.export import ZarrOptions, export_zarr

    return Chosen(
        export_zarr,
        ZarrOptions(**rows, version=zarr_format, level=level, float32=float32),
        'zarr.open_group("{out}", mode="r")["data"] holds all rows',
    )
