"""`twinloop export aloha`."""

from __future__ import annotations

from typing import Any

import typer

from twinloop.cli.export.command import Chosen, Float32Option, ImagesOption, JpegScaleOption, row_command


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("aloha")(aloha)


@row_command
def aloha(
    rows: dict[str, Any],
    images: ImagesOption = "own",
    jpeg_scale: JpegScaleOption = 2,
    float32: Float32Option = False,
) -> Chosen:
    """Write ALOHA's HDF5: one file an episode."""
    from twinloop.deliver.frames import Images
    from twinloop.deliver.hdf5.aloha import AlohaOptions, export_aloha

    options = AlohaOptions(**rows, images=Images.of(images), jpeg_scale=jpeg_scale, float32=float32)
    return Chosen(export_aloha, options, 'h5py.File("{out}/episode_0.hdf5") is the first episode')
