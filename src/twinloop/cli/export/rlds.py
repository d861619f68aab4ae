"""`twinloop export rlds`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from twinloop.cli.export.command import Chosen, ImagesOption, JpegScaleOption, ShardOption, row_command


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("rlds")(rlds)


@row_command
def rlds(
    rows: dict[str, Any],
    name: Annotated[str, typer.Option("--name", help="Of the dataset, in snake case.")] = "twinloop",
    shard_size: ShardOption = 200.0,
    images: ImagesOption = "own",
    jpeg_scale: JpegScaleOption = 2,
    float64: Annotated[
        bool, typer.Option("--float64", help="Numbers bit by bit, as tensors encoded as bytes.")
    ] = False,
    no_times: Annotated[bool, typer.Option("--no-times", help="No feature timestamp_ns in steps.")] = False,
) -> Chosen:
    """Write an RLDS dataset: TFRecord files that tensorflow_datasets opens."""
    from twinloop.deliver.frames import Images
    from twinloop.deliver.rlds.export import export_rlds
    from twinloop.deliver.rlds.options import RldsOptions

    options = RldsOptions(
        **rows,
        name=name,
        shard_mb=shard_size,
        images=Images.of(images),
        jpeg_scale=jpeg_scale,
        float64=float64,
        times=not no_times,
    )
    return Chosen(export_rlds, options, 'tfds.builder_from_directory("{out}") opens it')
