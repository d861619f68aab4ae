"""Steps as samples of WebDataset (https://github.com/webdataset/webdataset): in tar files, read in sequence.

A sample's key is ``<episode>_<step>``. Its files: ``<camera>.jpg`` or ``.png``, ``<feature>.npy`` (float64, or
float32 with --float32), and ``json``: times, instruction, where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.frames import chosen_forms
from twinloop.deliver.keys import keys_of
from twinloop.deliver.row_export import EpisodeRows, RowExport
from twinloop.deliver.webdataset.episodes import export_episodes
from twinloop.deliver.webdataset.options import WebDatasetOptions
from twinloop.deliver.webdataset.sample import lost, npy, provenance, step, told
from twinloop.deliver.webdataset.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from twinloop.deliver.account import Account
    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.job import Job, Progress
    from twinloop.deliver.plan import EpisodePlan
    from twinloop.deliver.source import ExportSource

SUFFIX = {"jpeg": "jpg", "png": "png"}


def export_webdataset(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: WebDatasetOptions,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Account:
    """Write the steps, or episodes, of `sources` as tar files in the folder `out`; see `Exporter.export`."""
    if options.sample == "episode":
        return export_episodes(sources, out, options, force=force, progress=progress)
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
        return lost(self.options)

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
        same = provenance(episode.index, episode.plan)
        for row in range(len(episode)):
            files = {extension: next(images) for extension, images in cameras.items()}
            files |= {extension: npy(values[row].astype(self._dtype)) for extension, values in numbers.items()}
            files["json"] = told(same | step(episode, row))
            self._shards.add(f"{episode.index:06d}_{row:06d}", files)

    def close(self) -> None:
        self._shards.close()

    def abandon(self) -> None:
        self._shards.close()
