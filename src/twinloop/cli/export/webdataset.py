"""`twinloop export webdataset`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from twinloop.cli.export.command import (
    Chosen,
    Float32Option,
    ImagesOption,
    JpegScaleOption,
    ShardOption,
    row_command,
)


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("webdataset")(webdataset)


@row_command
def webdataset(
    rows: dict[str, Any],
    sample: Annotated[
        str, typer.Option("--sample", help="What a sample is: a step, or an episode (with videos).")
    ] = "step",
    shard_size: ShardOption = 500.0,
    images: ImagesOption = "own",
    jpeg_scale: JpegScaleOption = 2,
    float32: Float32Option = False,
) -> Chosen:
    """Write WebDataset shards: tar files in which a sample is a step, or an episode."""
    from twinloop.deliver.frames import Images
    from twinloop.deliver.webdataset.export import export_webdataset
    from twinloop.deliver.webdataset.options import WebDatasetOptions

    options = WebDatasetOptions(
        **rows,
        sample=sample,
        shard_mb=shard_size,
        images=Images.of(images),
        jpeg_scale=jpeg_scale,
        float32=float32,
    )
    return Chosen(
        export_webdataset, options, 'webdataset.WebDataset("{out}/shard-000000.tar") reads the first shard'
    )
