"""Sessions in, a LeRobot dataset with its account out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from twinloop.core.errors import UnknownNameError
from twinloop.core.session import Outcome
from twinloop.deliver.job import Job, homeless
from twinloop.deliver.lerobot.dataset import lerobot_specs
from twinloop.deliver.lerobot.dataset_v3 import Sizes, WriterV3
from twinloop.deliver.lerobot.dataset_v21 import WriterV21
from twinloop.deliver.lerobot.episode_videos import ENCODING, EpisodeVideos
from twinloop.deliver.lerobot.plan import VideoPlan, VideoPlanner
from twinloop.deliver.sidecar import FOLDER, Sidecar
from twinloop.deliver.workspace import whole_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from twinloop.deliver.account import Account
    from twinloop.deliver.job import Progress
    from twinloop.deliver.lerobot.dataset import DatasetWriter
    from twinloop.deliver.lerobot.options import ExportOptions
    from twinloop.deliver.source import ExportSource

VERSIONS = (WriterV3.version, WriterV21.version)


def export_lerobot(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: ExportOptions,
    *,
    force: bool = False,
    sizes: Sizes = Sizes(),
    progress: Progress | None = None,
) -> Account:
    """Write the episodes of `sources` as one LeRobot dataset at `out`, and return the account.

    `out` is there whole or not at all. `out` None: nothing is written, the account tells what would be
    (a dry run reads all numbers but decodes no image).

    Raises:
        UsageError: `out` exists (without `force`), the sessions do not make one dataset, the clock's camera
            is not there, or there is nothing to export.
        UnknownNameError: a version or a codec that is none.
        UnreadableError: none of the images of an episode decodes.
        TwinloopError: the disk is full, or a written video does not hold what went in.
    """
    if options.version not in VERSIONS:
        raise UnknownNameError("version of LeRobot's format", options.version, VERSIONS)
    export = _Export(sources, options, progress)
    if out is None:
        return export.dry_run()
    with whole_folder(out, force) as root:
        return export.write(root, sizes)


class _Export:
    """One export: what is planned, then what is done."""

    def __init__(
        self, sources: Sequence[ExportSource], options: ExportOptions, progress: Progress | None
    ) -> None:
        self._options = options
        self._job = Job(
            sources,
            options,
            partial(VideoPlanner, options=options),
            f"LeRobot {options.version}",
            progress,
            trainers="LeRobot and its policies",
        )
        self._specs = self._job.specs = lerobot_specs(self._job.specs)
        self._plans, self._fps = self._job.plans, self._job.fps
        self._account = self._job.account
        self._videos = EpisodeVideos(self._job, options)
        self._account.lost += _lost(self._job)

    def dry_run(self) -> Account:
        """The account of what would be done."""
        self._account.dry_run = True
        for index, plan in enumerate(self._plans):
            self._videos.pretend(plan)
            self._job.enter(index, plan, self._job.aligned(plan), {})
        return self._job.conclude(None)

    def write(self, root: Path, sizes: Sizes) -> Account:
        """Write all of it below `root`."""
        writer = self._writer(root, sizes)
        sidecar = Sidecar(root / FOLDER)
        try:
            for plan in self._plans:
                self._write_episode(plan, root, writer, sidecar)
            writer.close({name: self._videos.sole_encoder(name) for name in self._videos.encoders})
            for piece in root.glob(f"{ENCODING}*"):
                piece.unlink()
        except BaseException:
            writer.abandon()
            raise
        return self._job.conclude(sidecar)

    def _writer(self, root: Path, sizes: Sizes) -> DatasetWriter:
        knows_success = all(plan.episode.outcome is not Outcome.UNKNOWN for plan in self._plans)
        if not knows_success:
            self._account.lost.append(
                "outcome: not every episode's is known, so rows have no next.success; see "
                f"{FOLDER}/episodes.parquet"
            )
        robots = {plan.episode.facts.robot or plan.source.facts.robot for plan in self._plans}
        robot = robots.pop() if len(robots) == 1 else None
        if self._options.version == WriterV21.version:
            return WriterV21(root, self._fps, self._specs, robot_type=robot, with_success=knows_success)
        return WriterV3(root, self._fps, self._specs, robot_type=robot, with_success=knows_success, sizes=sizes)

    def _write_episode(self, plan: VideoPlan, root: Path, writer: DatasetWriter, sidecar: Sidecar) -> None:
        aligned = self._job.aligned(plan)
        videos = self._videos.write(plan, writer.videos, root)
        first_index = writer.total_rows
        index_of = writer.add_episode(
            {name: values.values for name, values in aligned.items()},
            videos.places,
            videos.stats,
            plan.task,
            len(plan),
            succeeded=plan.episode.outcome is Outcome.SUCCESS and plan.part == plan.parts - 1,
            attributes=plan.episode.attributes,
        )
        valid = self._job.enter(index_of, plan, aligned, videos.broken)
        source_ns = self._job.source_ns(plan, aligned)
        sidecar.add_episode(index_of, first_index, plan, self._job.on_grid_ns(plan), valid, source_ns)


def _lost(job: Job[VideoPlan]) -> list[str]:
    """What the recordings hold and LeRobot has no field for. All but the samples is kept in the sidecar."""
    lost = [f"true times: rows have only row / fps; see {FOLDER}/rows.parquet and {FOLDER}/times/"]
    described = f"{FOLDER}/facts.json"
    if any(source.recording.calibration for source in job.sources):
        lost.append(f"calibration: see {described}")
    if any(not spec.is_camera for spec in job.specs.values()):
        lost.append(f"units, frames and what actions are relative to: see {described}")
        lost.append("precision: numbers are stored as 32-bit floats")
    lost.append(f"operator, site, rig, consent, outcome: see {FOLDER}/episodes.parquet and {described}")
    lost += [
        f"{name}: depth is 12-bit, logarithmic from 10 mm to 10 m (steps of 1.2 to 4.4 mm); "
        "zero, no measurement, becomes 10 mm; the exact 16 bits stay in the store"
        for name, spec in job.specs.items()
        if spec.depth
    ]
    return [*lost, *homeless(job.sources, "LeRobot", described)]
