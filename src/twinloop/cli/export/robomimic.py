"""`twinloop export robomimic`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from twinloop.cli.export.command import Chosen, Float32Option, row_command


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("robomimic")(robomimic)


@row_command
def robomimic(
    rows: dict[str, Any],
    valid: Annotated[
        float, typer.Option("--valid", metavar="SHARE", help="Of episodes for the filter key valid, 0 to 0.5.")
    ] = 0.0,
    next_obs: Annotated[
        bool, typer.Option("--next-obs", help="Write next observations, too (doubles the file).")
    ] = False,
    float32: Float32Option = False,
) -> Chosen:
    """Write robomimic's HDF5: one file of demonstrations."""
    from twinloop.deliver.hdf5.robomimic import RobomimicOptions, export_robomimic

    options = RobomimicOptions(**rows, next_obs=next_obs, valid_share=valid, float32=float32)
    return Chosen(export_robomimic, options, 'h5py.File("{out}")["data/demo_0"] is the first episode')
