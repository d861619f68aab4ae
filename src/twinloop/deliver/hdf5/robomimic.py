"""robomimic's HDF5: ``data/demo_N`` with observations, actions, rewards and dones; splits in ``mask``.

Layout: https://robomimic.github.io/docs/datasets/overview.html.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.core.session import Outcome
from twinloop.deliver.frames import Images, chosen_forms
from twinloop.deliver.hdf5.arrays import create_file, write_images, write_truth
from twinloop.deliver.keys import keys_of, rewards
from twinloop.deliver.options import RowOptions
from twinloop.deliver.row_export import EpisodeRows, RowExport
from twinloop.deliver.sidecar import BESIDE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import h5py

    from twinloop.deliver.account import Account
    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.job import Job, Progress
    from twinloop.deliver.plan import EpisodePlan
    from twinloop.deliver.source import ExportSource


@dataclass(frozen=True, slots=True)
class RobomimicOptions(RowOptions):
    """How rows are made and written.

    Attributes:
        next_obs: write each step's next observation, too (doubles the file).
        valid_share: of episodes that go into the filter key ``valid``, every n-th; 0: no masks but ``all``.
    """

    next_obs: bool = False
    valid_share: float = 0.0
    float32: bool = False

    def __post_init__(self) -> None:
        RowOptions.__post_init__(self)
        if not 0 <= self.valid_share <= 0.5:
            raise UsageError(f"a share of {self.valid_share:g}", expected="--valid from 0 to 0.5")


def export_robomimic(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: RobomimicOptions,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Account:
    """Write the episodes of `sources` as the file `out`; see `Exporter.export`."""
    return RowExport(sources, options, _Robomimic(options), progress).run(out, force)


@dataclass(frozen=True, slots=True)
class _Robomimic:
    options: RobomimicOptions
    title: str = "robomimic HDF5"
    single_file: bool = True

    jpeg_scale: int = 0

    def forms(self, stored: dict[str, str], specs: dict[str, FeatureSpec]) -> dict[str, str]:
        return chosen_forms(Images.RAW, stored, specs)

    def lost(self, job: Job[EpisodePlan]) -> list[str]:
        lost = [
            f"units, frames, calibration, names of elements: attribute `features`, and {BESIDE}/facts.json",
            f"operator, site, rig, consent: see {BESIDE}/episodes.parquet",
            f"times of samples between rows: see {BESIDE}/times/",
            "simulator states, model file, environment: the recordings are not of robosuite; env_args says so",
        ]
        if self.options.float32:
            lost.append("precision: numbers are stored as 32-bit floats (--float32)")
        if any(plan.episode.outcome is Outcome.UNKNOWN for plan in job.plans):
            lost.append("rewards: where no outcome is known they are 0; see twinloop/ of the episode")
        if not keys_of(job.specs).actions:
            raise UsageError(
                "robomimic needs actions, and no feature is one",
                fix='give a feature the role "action" in the mapping: twinloop map',
            )
        return lost

    def open(self, path: Path, export: RowExport) -> _Writer:
        return _Writer(create_file(path, "robomimic HDF5"), export, self.options)


@dataclass(slots=True)
class _Writer:
    file: h5py.File
    export: RowExport
    options: RobomimicOptions
    lengths: list[int] = field(default_factory=list)

    def add(self, episode: EpisodeRows) -> None:
        keys, specs = keys_of(self.export.specs), self.export.specs
        rows, plan = len(episode), episode.plan
        dtype = np.float32 if self.options.float32 else np.float64
        demo = self.file.create_group(f"data/demo_{episode.index}")
        demo.attrs["num_samples"] = rows
        demo.attrs["language_instruction"] = plan.task
        succeeded = plan.episode.outcome is Outcome.SUCCESS and plan.part == plan.parts - 1
        demo["actions"] = keys.action(episode.values, rows).astype(dtype)
        demo["rewards"] = rewards(succeeded, rows)
        demo["dones"] = (np.arange(rows) == rows - 1).astype(np.int64)
        observations = demo.create_group("obs")
        for name, key in keys.observations.items():
            observations[key] = episode.values[name].astype(dtype)
        for name, key in keys.cameras.items():
            write_images(observations, key, episode.cameras[name], specs[name].shape)
        for name, key in keys.others.items():
            demo[key] = episode.values[name].astype(dtype)
        if len(keys.actions) > 1:
            parts = demo.create_group("action_dict")
            for name, key in keys.actions.items():
                parts[key] = episode.values[name].astype(dtype)
        if self.options.next_obs:
            _write_next(demo, observations)
        write_truth(demo, episode)
        self.lengths.append(rows)

    def close(self) -> None:
        data = self.file["data"]
        data.attrs["total"] = sum(self.lengths)
        data.attrs["env_args"] = json.dumps(
            {
                "env_name": "unknown: recorded, not simulated",
                "type": None,
                "env_kwargs": {"control_freq": self.export.job.fps},
            }
        )
        data.attrs["features"] = json.dumps(
            {name: {"names": spec.names, **spec.described} for name, spec in self.export.specs.items()},
            ensure_ascii=False,
        )
        for key, chosen in self._splits().items():
            names = [f"demo_{number}".encode() for number in chosen]
            self.file.create_dataset(f"mask/{key}", data=np.array(names, "S"))
        self.file.close()

    def abandon(self) -> None:
        self.file.close()

    def _splits(self) -> dict[str, list[int]]:
        """Filter keys: which episodes are in which. Parts of one episode stay together."""
        everything = list(range(len(self.lengths)))
        if not self.options.valid_share:
            return {"train": everything}
        plans = self.export.job.plans
        order = {name: place for place, name in enumerate(dict.fromkeys(plan.episode.id for plan in plans))}
        every = round(1 / self.options.valid_share)
        held_out = [k for k in everything if order[plans[k].episode.id] % every == every - 1]
        return {"train": [k for k in everything if k not in set(held_out)], "valid": held_out}


def _write_next(demo: h5py.Group, observations: h5py.Group) -> None:
    """``next_obs``: each step's is the next one's, the last one's its own. Read back, some rows at a time."""
    following = demo.create_group("next_obs")
    for key, source in observations.items():
        target = following.create_dataset(key, source.shape, source.dtype, chunks=source.chunks)
        rows = len(source)
        step = max(1, (16 << 20) // max(source.nbytes // max(rows, 1), 1))
        for first in range(0, rows, step):
            stop = min(first + step, rows)
            block = source[first : min(stop + 1, rows)]
            target[first:stop] = block[1:] if stop < rows else np.concatenate([block[1:], block[-1:]])
