"""The built-in exporters, as the registry of `twinloop.deliver.exporter` finds them by their entry points."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING

from twinloop.deliver.options import RowOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from twinloop.deliver.account import Account
    from twinloop.deliver.job import Progress
    from twinloop.deliver.source import ExportSource


@dataclass(frozen=True)
class Description:
    """A format that can be written, as `twinloop.deliver.exporter.Writable` has it."""

    name: str
    title: str
    keeps: str
    loses: str
    extra: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class BuiltIn(Description):
    """An exporter whose code is imported when it is called. `function`, `options`: as ``module:name``."""

    function: str
    options: str

    def export(
        self,
        sources: Sequence[ExportSource],
        out: Path | None,
        options: RowOptions,
        *,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Account:
        """Write the sessions; `options` may be the format's own, or those of all formats."""
        own: type[RowOptions] = _load(self.options)  # type: ignore[assignment]
        if not isinstance(options, own):
            options = own(**{item.name: getattr(options, item.name) for item in fields(RowOptions)})
        account: Account = _load(self.function)(sources, out, options, force=force, progress=progress)  # type: ignore[operator]
        return account


def _load(path: str) -> object:
    module, _, name = path.partition(":")
    return getattr(import_module(f"twinloop.deliver.{module}"), name)


MCAP = Description(
    "mcap",
    "MCAP (ROS 2 CDR, or Foxglove's protobuf)",
    "every sample with its own times, images as they were recorded, episodes, calibration",
    "video with B-frames and in rare codecs is encoded again; with --exact, raw pixels",
)
LEROBOT = BuiltIn(
    "lerobot",
    "LeRobot dataset (v3.0, v2.1)",
    "rows by a stated clock, video remuxed where nothing has to change, tasks, success",
    "times within rows, precision over 32 bits, depth over 12 bits; all of it is beside, in twinloop/",
    "lerobot.export:export_lerobot",
    "lerobot.options:ExportOptions",
)
RLDS = BuiltIn(
    "rlds",
    "RLDS (TFRecord)",
    "steps with true times, instructions, own JPEGs; float64 where asked for",
    "precision over 32 bits unless --float64; samples between rows, units, calibration: beside, in twinloop/",
    "rlds.export:export_rlds",
    "rlds.options:RldsOptions",
)
ROBOMIMIC = BuiltIn(
    "robomimic",
    "robomimic HDF5",
    "numbers in 64 bits, pixels, depth in 16 bits, true times, masks",
    "images' own compression; samples between rows, units, calibration: beside, in <file>.twinloop/",
    "hdf5.robomimic:export_robomimic",
    "hdf5.robomimic:RobomimicOptions",
    extra="hdf5",
)
ALOHA = BuiltIn(
    "aloha",
    "ALOHA HDF5",
    "qpos, qvel, effort, action in 64 bits, own JPEGs or pixels, true times",
    "what is no joint state goes to a group of ours; samples between rows, units, calibration: in twinloop/",
    "hdf5.aloha:export_aloha",
    "hdf5.aloha:AlohaOptions",
    extra="hdf5",
)
ZARR = BuiltIn(
    "zarr",
    "Zarr ReplayBuffer (diffusion policy, UMI)",
    "numbers in 64 bits, pixels, depth in 16 bits, true times",
    "images' own compression; samples between rows, units, calibration: beside, in twinloop/",
    "zarr.export:export_zarr",
    "zarr.export:ZarrOptions",
    extra="zarr",
)
WEBDATASET = BuiltIn(
    "webdataset",
    "WebDataset shards",
    "steps or episodes as samples, numbers in 64 bits, own JPEGs, true times, instructions",
    "samples between rows, units, calibration: beside, in twinloop/",
    "webdataset.export:export_webdataset",
    "webdataset.options:WebDatasetOptions",
)
