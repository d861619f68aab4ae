"""Steps as samples of WebDataset (https://github.com/webdataset/webdataset): in tar files, read in sequence.

A sample's key is ``<episode>_<step>``. Its files: ``<camera>.jpg`` or ``.png``, ``<feature>.npy`` (float64, or
float32 with --float32), and ``json``: times, instruction, where it comes from.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.deliver.frames import Images, chosen_forms
from twinloop.deliver.keys import keys_of
from twinloop.deliver.options import RowOptions
from twinloop.deliver.row_export import EpisodeRows, RowExport
from twinloop.deliver.sidecar import FOLDER
from twinloop.deliver.webdataset.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.deliver.account import Account
    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.job import Job, Progress
    from twinloop.deliver.plan import EpisodePlan
    from twinloop.deliver.source import ExportSource

SUFFIX = {"jpeg": "jpg", "png": "png"}


@dataclass(frozen=True, slots=True)
class WebDatasetOptions(RowOptions):
    """How rows are made and written.

    Attributes:
        shard_mb: when a new tar starts. images: own, png or jpeg. float32: numbers in 32 bits.
        jpeg_scale: quantiser of JPEG encoded here, 1 (best) to 31.
    """

    shard_mb: float = 500.0
    images: Images = Images.OWN
    jpeg_scale: int = 2
    float32: bool = False

    def __post_init__(self) -> None:
        RowOptions.__post_init__(self)
        if not self.shard_mb > 0:
            raise UsageError(f"tar files of {self.shard_mb:g} MB", expected="--shard-size above 0")
        if self.images is Images.RAW:
            raise UsageError("WebDataset keeps images as files", expected="--images own, png or jpeg")


def export_webdataset(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: WebDatasetOptions,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Account:
    """Write the steps of `sources` as tar files in the folder `out`; see `Exporter.export`."""
    return RowExport(sources, options, _WebDataset(options), progress).run(out, force)


@dataclass(frozen=True, slots=True)
class _WebDataset:
    options: WebDatasetOptions
    title: str = "WebDataset"
    single_file: bool = False

    @property
    def jpeg_scale(self) -> int:
        return self.options.jpeg_scale

    def forms(self, stored: dict[str, str], specs: dict[str, FeatureSpec]) -> dict[str, str]:
        return chosen_forms(self.options.images, stored, specs)

    def lost(self, job: Job[EpisodePlan]) -> list[str]:  # noqa: ARG002  (the same of all)
        lost = [
            f"units, frames, calibration, names of elements: see {FOLDER}/facts.json",
            f"operator, site, rig, consent: see {FOLDER}/episodes.parquet",
            f"times of samples between rows: see {FOLDER}/times/",
        ]
        if self.options.float32:
            lost.append("precision: numbers are stored as 32-bit floats (--float32)")
        return lost

    def open(self, path: Path, export: RowExport) -> _Writer:
        return _Writer(path, export, self.options)


class _Writer:
    def __init__(self, root: Path, export: RowExport, options: WebDatasetOptions) -> None:
        self._export = export
        self._dtype = np.float32 if options.float32 else np.float64
        self._keys = keys_of(export.specs)
        self._shards = Shards(root, options.shard_mb)

    def add(self, episode: EpisodeRows) -> None:
        keys = self._keys
        numbers = {
            f"{key}.npy": episode.values[name] for name, key in (keys.observations | keys.others).items()
        }
        if keys.actions:
            numbers["action.npy"] = keys.action(episode.values, len(episode))
        cameras: dict[str, Iterator[bytes]] = {
            f"{key}.{SUFFIX[self._export.forms[name].form]}": episode.cameras[name].files()
            for name, key in keys.cameras.items()
        }
        told = _Told(episode)
        for row in range(len(episode)):
            files = {extension: next(images) for extension, images in cameras.items()}
            files |= {extension: _npy(values[row].astype(self._dtype)) for extension, values in numbers.items()}
            files["json"] = told.of(row)
            self._shards.add(f"{episode.index:06d}_{row:06d}", files)

    def close(self) -> None:
        self._shards.close()

    def abandon(self) -> None:
        self._shards.close()


class _Told:
    """What the JSON of each step of an episode says."""

    def __init__(self, episode: EpisodeRows) -> None:
        plan = episode.plan
        self._episode = episode
        self._same = {
            "episode_index": episode.index,
            "instruction": plan.task,
            "outcome": plan.episode.outcome.value,
            "session": plan.source.session,
            "episode": plan.episode.id,
            "recording": plan.episode.recording,
        }
        self._last = len(episode) - 1

    def of(self, row: int) -> bytes:
        episode = self._episode
        said = {
            **self._same,
            "step": row,
            "is_first": row == 0,
            "is_last": row == self._last,
            "time_ns": int(episode.row_ns[row]),
            "source_ns": {name: int(times[row]) for name, times in episode.source_ns.items()},
            "valid": bool(episode.numbers_valid[row])
            and not any(camera.broken[row] for camera in episode.cameras.values()),
        }
        return json.dumps(said, ensure_ascii=False).encode()


def _npy(values: NDArray[np.floating]) -> bytes:
    target = io.BytesIO()
    np.save(target, values)
    return target.getvalue()
