"""Episodes as samples of WebDataset: a video a camera, arrays over all rows.

Videos are made as LeRobot's are: remuxed where that changes nothing, image k at k / fps, each beginning with
its first row. ``time_ns.npy`` has the rows' true times.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.job import Job, homeless
from twinloop.deliver.keys import keys_of
from twinloop.deliver.lerobot.dataset import lerobot_specs
from twinloop.deliver.lerobot.episode_videos import EpisodeVideos
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.lerobot.plan import VideoPlan, VideoPlanner
from twinloop.deliver.lerobot.video_files import CameraFiles
from twinloop.deliver.sidecar import FOLDER, Sidecar
from twinloop.deliver.webdataset.sample import lost, npy, provenance, told
from twinloop.deliver.webdataset.shards import Shards
from twinloop.deliver.workspace import whole_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from twinloop.deliver.account import Account
    from twinloop.deliver.align import Aligned
    from twinloop.deliver.job import Progress
    from twinloop.deliver.source import ExportSource
    from twinloop.deliver.webdataset.options import WebDatasetOptions

_PATTERN = ".videos/{video_key}-{episode_index}.mp4"


def export_episodes(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: WebDatasetOptions,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Account:
    """Write the episodes of `sources`, one a sample, as tar files in the folder `out`."""
    export = _Episodes(sources, options, progress)
    if out is None:
        return export.dry_run()
    with whole_folder(out, force) as root:
        return export.write(root)


class _Episodes:
    def __init__(
        self, sources: Sequence[ExportSource], options: WebDatasetOptions, progress: Progress | None
    ) -> None:
        self._options = options
        videos = ExportOptions(
            clock=options.clock,
            align=options.align,
            max_age_ms=options.max_age_ms,
            keep_gaps=options.keep_gaps,
            task=options.task,
            include_excluded=options.include_excluded,
            keep_lead=False,
        )
        planner = partial(VideoPlanner, options=videos)
        self._job: Job[VideoPlan] = Job(sources, videos, planner, "WebDataset", progress, grid=False)
        self._job.specs = lerobot_specs(self._job.specs)
        self._keys = keys_of(self._job.specs)
        self._videos = EpisodeVideos(self._job, videos)
        self._job.account.lost += lost(options)
        self._job.account.lost += [
            f"{name}: depth in videos is 12-bit; --sample step keeps 16"
            for name, spec in self._job.specs.items()
            if spec.depth
        ]
        self._job.account.lost += homeless(self._job.sources, "WebDataset", f"{FOLDER}/facts.json")

    def dry_run(self) -> Account:
        self._job.account.dry_run = True
        for index, plan in enumerate(self._job.plans):
            self._videos.pretend(plan)
            self._job.enter(index, plan, self._job.aligned(plan), {})
        return self._job.conclude(None)

    def write(self, root: Path) -> Account:
        shards = Shards(root, self._options.shard_mb)
        sidecar = Sidecar(root / FOLDER)
        work = root / ".videos"
        work.mkdir()
        files = {
            name: CameraFiles(root, name, self._job.fps, pattern=_PATTERN, one_each=True)
            for name in self._videos.cameras
        }
        first_row = 0
        try:
            for index, plan in enumerate(self._job.plans):
                self._add(index, first_row, plan, files, work, shards, sidecar)
                first_row += len(plan)
        except BaseException:
            for camera in files.values():
                camera.abandon()
            raise
        finally:
            shards.close()
        work.rmdir()
        return self._job.conclude(sidecar)

    def _add(
        self,
        index: int,
        first_row: int,
        plan: VideoPlan,
        files: dict[str, CameraFiles],
        work: Path,
        shards: Shards,
        sidecar: Sidecar,
    ) -> None:
        job = self._job
        aligned = job.aligned(plan)
        videos = self._videos.write(plan, files, work)
        for camera in files.values():
            camera.close()
        valid = job.enter(index, plan, aligned, videos.broken)
        source_ns = job.source_ns(plan, aligned)
        sample: dict[str, bytes | Path] = {
            f"{key}.mp4": work / f"{name}-{index}.mp4" for name, key in self._keys.cameras.items()
        }
        sample |= self._numbers(plan, aligned)
        sample["time_ns.npy"] = npy(plan.span.row_ns)
        sample["valid.npy"] = npy(valid)
        sample["json"] = told({**provenance(index, plan), "steps": len(plan), "fps": job.fps})
        shards.add(f"{index:06d}", sample)
        for piece in work.iterdir():
            piece.unlink()
        sidecar.add_episode(index, first_row, plan, job.on_grid_ns(plan), valid, source_ns)

    def _numbers(self, plan: VideoPlan, aligned: dict[str, Aligned]) -> dict[str, bytes]:
        dtype = np.float32 if self._options.float32 else np.float64
        values = {name: rows.values for name, rows in aligned.items()}
        keys = self._keys.observations | self._keys.others
        numbers = {f"{key}.npy": npy(values[name].astype(dtype)) for name, key in keys.items()}
        if self._keys.actions:
            numbers["action.npy"] = npy(self._keys.action(values, len(plan)).astype(dtype))
        return numbers
