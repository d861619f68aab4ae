"""Episodes as a ReplayBuffer: ``data/<key>`` (N, ...) over all rows, ``meta/episode_ends`` (E,).

Layout: https://github.com/real-stanford/diffusion_policy (common/replay_buffer.py). The rows' true times are in
``data/timestamp`` (s) as its recorder has them, to the nanosecond in ``twinloop/row_ns``. What it has no place
for stands in the group `twinloop`, which a ReplayBuffer does not look into.
"""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.errors import MissingExtraError, UsageError
from twinloop.deliver.arrays import batches
from twinloop.deliver.frames import Images, chosen_forms
from twinloop.deliver.keys import keys_of
from twinloop.deliver.options import RowOptions
from twinloop.deliver.row_export import EpisodeRows, RowExport
from twinloop.deliver.row_stamps import row_stamps, said
from twinloop.deliver.sidecar import BESIDE, FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from twinloop.deliver.account import Account
    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.job import Job, Progress
    from twinloop.deliver.plan import EpisodePlan
    from twinloop.deliver.source import ExportSource

#: Rows of numbers in a chunk.
_CHUNK_ROWS = 4096
#: ZIP knows no earlier day; archives of the same data are the same bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class ZarrOptions(RowOptions):
    """How rows are made and written.

    Attributes:
        version: of the Zarr format, 2 (what diffusion policy and UMI read) or 3. float32: numbers in 32 bits.
        level: of Blosc's zstd, 0 (none) to 9.
    """

    version: int = 2
    float32: bool = False
    level: int = 1

    def __post_init__(self) -> None:
        RowOptions.__post_init__(self)
        if self.version not in (2, 3):
            raise UsageError(f"there is no Zarr format {self.version}", expected="--zarr-format 2 or 3")


def export_zarr(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: ZarrOptions,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Account:
    """Write the episodes of `sources` as the folder `out`, or as one file where it ends in ``.zip``; see
    `Exporter.export`."""
    zipped = out is not None and out.suffix == ".zip"
    return RowExport(sources, options, _Zarr(options, single_file=zipped), progress).run(out, force)


@dataclass(frozen=True, slots=True)
class _Zarr:
    options: ZarrOptions
    single_file: bool
    title: str = "Zarr"
    jpeg_scale: int = 0

    def forms(self, stored: dict[str, str], specs: dict[str, FeatureSpec]) -> dict[str, str]:
        return chosen_forms(Images.RAW, stored, specs)

    def lost(self, job: Job[EpisodePlan]) -> list[str]:  # noqa: ARG002  (the same of all)
        beside = BESIDE if self.single_file else FOLDER
        lost = [
            f"units, frames, names of elements, calibration: attributes of twinloop, and {beside}/facts.json",
            f"operator, site, rig, consent: see {beside}/episodes.parquet",
            f"times of samples between rows: see {beside}/times/",
            "instruction, outcome: a ReplayBuffer has no place for them; attributes of the group twinloop",
        ]
        if self.options.float32:
            lost.append("precision: numbers are stored as 32-bit floats (--float32)")
        return lost

    def open(self, path: Path, export: RowExport) -> _Writer:
        return _Writer(path, export, self.options, self.single_file)


class _Writer:
    def __init__(self, path: Path, export: RowExport, options: ZarrOptions, zipped: bool) -> None:
        try:
            import zarr
        except ImportError:
            raise MissingExtraError("zarr", "zarr", "Zarr") from None

        self._path, self._zipped = path, zipped
        self._folder = path.with_name(f".{path.name}.folder") if zipped else path
        self._export, self._options = export, options
        self._keys = keys_of(export.specs)
        self._dtype = "<f4" if options.float32 else "<f8"
        self._root = zarr.open_group(str(self._folder), mode="w", zarr_format=2 if options.version == 2 else 3)
        self._arrays: dict[str, Any] = {}
        self._ends: list[int] = []
        self._episodes: list[dict[str, object]] = []

    def add(self, episode: EpisodeRows) -> None:
        keys, plan = self._keys, episode.plan
        first = episode.first_row
        if keys.actions:
            self._put("data/action", first, keys.action(episode.values, len(episode)).astype(self._dtype))
        for name, key in keys.observations.items():
            self._put(f"data/{key}", first, episode.values[name].astype(self._dtype))
        for name, key in keys.others.items():
            self._put(f"twinloop/features/{key}", first, episode.values[name])
        for name, key in keys.cameras.items():
            for at, images in batches(episode.cameras[name], self._export.specs[name].shape):
                self._put(f"data/{key}", first + at, images, chunk=1)
        if "timestamp" not in keys.observations.values():
            self._put("data/timestamp", first, episode.row_ns / 1e9)
        self._put("twinloop/row_ns", first, episode.row_ns)
        self._put("twinloop/valid", first, episode.valid)
        for name, times in episode.source_ns.items():
            self._put(f"twinloop/source_ns/{name.replace('.', '_')}", first, times)
        self._ends.append(first + len(episode))
        self._episodes.append(
            {
                "session": plan.source.session,
                "episode": plan.episode.id,
                "outcome": plan.episode.outcome.value,
                "instruction": plan.task,
                **said(row_stamps(plan.source)),
            }
        )

    def close(self) -> None:
        ends = np.array(self._ends, np.int64)
        self._array("meta/episode_ends", ends.shape, ends.dtype, len(ends))[:] = ends
        features = {
            name: {"names": list(spec.names), **spec.described} for name, spec in self._export.specs.items()
        }
        facts: dict[str, Any] = {
            "episodes": self._episodes,
            "fps": self._export.job.fps,
            "features": features,
        }
        self._root["twinloop"].attrs.update(facts)
        if self._zipped:
            _zip(self._folder, self._path)
            shutil.rmtree(self._folder)

    def abandon(self) -> None:
        """Nothing is open."""

    def _put(self, key: str, first: int, values: NDArray[Any], chunk: int = _CHUNK_ROWS) -> None:
        if key not in self._arrays:
            shape = (self._export.rows, *values.shape[1:])
            self._arrays[key] = self._array(key, shape, values.dtype, chunk)
        self._arrays[key][first : first + len(values)] = values

    def _array(self, key: str, shape: tuple[int, ...], dtype: np.dtype[Any], chunk: int) -> Any:
        chunks = (max(1, min(chunk, shape[0])), *shape[1:])
        return self._root.create_array(
            key, shape=shape, dtype=dtype, chunks=chunks, compressors=self._compressor()
        )

    def _compressor(self) -> Any:
        level = self._options.level
        if self._options.version == 3:
            from zarr.codecs import BloscCodec

            return BloscCodec(cname="zstd", clevel=level, shuffle="shuffle")
        from numcodecs import Blosc

        return Blosc("zstd", clevel=level, shuffle=Blosc.SHUFFLE)


def _zip(folder: Path, path: Path) -> None:
    """All files of a folder, as they are, in order of their names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for file in sorted(item for item in folder.rglob("*") if item.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _NO_TIME)
            entry.external_attr = 0o644 << 16
            big = file.stat().st_size >= 1 << 31
            with archive.open(entry, "w", force_zip64=big) as target, file.open("rb") as source:
                shutil.copyfileobj(source, target)
