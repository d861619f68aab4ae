"""Sessions in, a LeRobot v3.0 dataset with its account out."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.session import Outcome
from twinloop.deliver.align import Align
from twinloop.deliver.lerobot.account import Account, CameraAccount, FeatureAccount
from twinloop.deliver.lerobot.account_text import account_text
from twinloop.deliver.lerobot.camera import REMUX_CODECS, Run
from twinloop.deliver.lerobot.dataset import LeRobotWriter, Sizes
from twinloop.deliver.lerobot.encode import Encoder, encode_rows, encoder_beside, encoder_for
from twinloop.deliver.lerobot.features import FeatureSpec, agree, align_features, specs_of
from twinloop.deliver.lerobot.image_stats import keyframe_stats, stored_stats
from twinloop.deliver.lerobot.plan import EpisodePlan, LeftOut, SessionPlanner, rows_per_second
from twinloop.deliver.lerobot.sidecar import FOLDER, Sidecar
from twinloop.deliver.lerobot.stats import FeatureStats, PixelStats, images_to_sample
from twinloop.deliver.lerobot.workspace import whole_folder
from twinloop.deliver.rows import CameraClock, grid_ns
from twinloop.formats.video.probe import packet_index

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.deliver.align import Aligned
    from twinloop.deliver.lerobot.camera import CameraPlan
    from twinloop.deliver.lerobot.source import ExportOptions, ExportSource
    from twinloop.deliver.lerobot.video_files import VideoPlace


#: Files of this name hold an episode's images between being encoded and going into the dataset's files.
ENCODING = "encoding-"


class Progress(Protocol):
    """Told how far an export is."""

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` images are written."""


def export_lerobot(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: ExportOptions,
    *,
    force: bool = False,
    sizes: Sizes = Sizes(),
    progress: Progress | None = None,
) -> Account:
    """Write the episodes of `sources` as one LeRobot v3.0 dataset at `out`, and return the account.

    `out` is there whole or not at all. `out` None: nothing is written, the account tells what would be
    (a dry run reads all numbers but decodes no image).

    Raises:
        UsageError: `out` exists (without `force`), the sessions do not make one dataset, the clock's camera
            is not there, or there is nothing to export.
        UnreadableError: none of the images of an episode decodes.
        TwinloopError: the disk is full, or a written video does not hold what went in.
    """
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
        self._progress = progress
        self._sources = list(sources)
        self._specs = _agreed(self._sources)
        self._planners = {source.session: SessionPlanner(source, options) for source in self._sources}
        chosen = [planner.chosen() for planner in self._planners.values()]
        if not any(taken for taken, _ in chosen):
            raise _nothing([left for _, lefts in chosen for left in lefts])
        self._fps = rows_per_second(list(self._planners.values()), options)
        self._plans: list[EpisodePlan] = []
        self._account = self._open_account()
        for planner in self._planners.values():
            for plan in planner.plan(self._fps):
                if isinstance(plan, LeftOut):
                    self._account.left_out.append(plan)
                else:
                    self._plans.append(plan)
        if not self._plans:
            raise _nothing(self._account.left_out)
        self._encoders = {camera: self._encoder(camera) for camera in self._account.cameras}
        self._total = sum(len(p.span.row_ns) * max(len(p.cameras), 1) for p in self._plans)
        self._done = 0

    def dry_run(self) -> Account:
        """The account of what would be done."""
        self._account.dry_run = True
        for index, plan in enumerate(self._plans):
            aligned = align_features(plan.source, plan.span.row_ns, self._options)
            for name, camera in plan.cameras.items():
                gop = camera.gop if camera.remuxed else self._encoders[name].gop
                self._account.cameras[name].add(camera, self._codec(plan, name), 0, gop)
            self._enter(index, plan, aligned, {})
        self._account.conclude()
        return self._account

    def write(self, root: Path, sizes: Sizes) -> Account:
        """Write all of it below `root`."""
        knows_success = all(plan.episode.outcome is not Outcome.UNKNOWN for plan in self._plans)
        robots = {plan.episode.facts.robot or plan.source.facts.robot for plan in self._plans}
        writer = LeRobotWriter(
            root,
            self._fps,
            self._specs,
            robot_type=robots.pop() if len(robots) == 1 else None,
            with_success=knows_success,
            sizes=sizes,
        )
        if not knows_success:
            self._account.lost.append(
                "outcome: not every episode's is known, so rows have no next.success; see "
                f"{FOLDER}/episodes.parquet"
            )
        sidecar = Sidecar(root)
        try:
            for plan in self._plans:
                self._write_episode(plan, root, writer, sidecar)
            writer.close({name: self._sole_encoder(name) for name in self._encoders})
            for piece in root.glob(f"{ENCODING}*"):
                piece.unlink()
        except BaseException:
            writer.abandon()
            raise
        for source in self._sources:
            sidecar.write_times(source)
        sidecar.write_facts(self._sources, self._specs)
        sidecar.close()
        self._account.conclude()
        folder = root / FOLDER
        text = json.dumps(self._account.to_json(), indent=2, ensure_ascii=False)
        (folder / "account.json").write_text(text + "\n", encoding="utf-8")
        (folder / "ACCOUNT.md").write_text(account_text(self._account), encoding="utf-8")
        return self._account

    def _write_episode(self, plan: EpisodePlan, root: Path, writer: LeRobotWriter, sidecar: Sidecar) -> None:
        rows = plan.span.row_ns
        aligned = align_features(plan.source, rows, self._options)
        videos: dict[str, VideoPlace] = {}
        image_stats: dict[str, FeatureStats] = {}
        broken: dict[str, NDArray[np.bool_]] = {}
        for name, camera in plan.cameras.items():
            before = self._done
            files = writer.videos[name]
            if camera.remuxed:
                runs = [*self._head(plan, name, camera, root), *camera.runs]
                videos[name] = files.append(runs, camera.lead)
                image_stats[name] = self._copied_stats(plan, name, camera, runs)
                gop = camera.gop
            else:
                encoder = self._encoders[name]
                run, broken[name], image_stats[name] = self._encode(plan, name, camera.images, encoder, root)
                videos[name] = files.append([run])
                gop = 2 if self._specs[name].depth else encoder.gop
            self._account.cameras[name].add(
                camera, self._codec(plan, name), int(broken.get(name, np.zeros(1)).sum()), gop
            )
            self._advance(len(rows) - (self._done - before))
        first_index = writer.total_rows
        index_of = writer.add_episode(
            {name: values.values for name, values in aligned.items()},
            videos,
            image_stats,
            plan.task,
            len(rows),
            succeeded=plan.episode.outcome is Outcome.SUCCESS and plan.part == plan.parts - 1,
        )
        valid = self._enter(index_of, plan, aligned, broken)
        tables = self._planners[plan.source.session].tables
        shown = {name: tables[name].times_ns[camera.images] for name, camera in plan.cameras.items()}
        taken = {name: values.source_ns for name, values in aligned.items()}
        sidecar.add_episode(
            index_of, first_index, plan, grid_ns(int(rows[0]), len(rows), self._fps), valid, taken | shown
        )

    def _head(self, plan: EpisodePlan, name: str, camera: CameraPlan, root: Path) -> list[Run]:
        """The rows before the first keyframe, encoded so that they fit before the copied packets."""
        if not camera.head:
            return []
        encoder = encoder_beside(encoder_for("h264", self._options.gop, self._options.crf))
        return [self._encode(plan, name, camera.images[: camera.head], encoder, root)[0]]

    def _encode(
        self, plan: EpisodePlan, name: str, images: NDArray[np.int64], encoder: Encoder, root: Path
    ) -> tuple[Run, NDArray[np.bool_], FeatureStats]:
        """Images encoded into a file that lasts until the next is; which do not decode; statistics."""
        planner = self._planners[plan.source.session]
        depth = self._specs[name].depth
        pixels = PixelStats(depth)
        piece = root / f"{ENCODING}{name}.mp4"
        broken = encode_rows(
            planner.tables[name],
            images,
            piece,
            self._fps,
            encoder,
            planner.packets,
            depth=depth,
            seen=pixels.add,
            wanted=frozenset(images_to_sample(len(images)).tolist()),
            on_row=self._advance,
        )
        index = packet_index(piece)
        return Run(index, 0, len(index)), broken, pixels.stats()

    def _copied_stats(self, plan: EpisodePlan, name: str, camera: CameraPlan, runs: list[Run]) -> FeatureStats:
        planner = self._planners[plan.source.session]
        first, last = planner.tables[name].times_ns[camera.images[[0, -1]]].tolist()
        stored = stored_stats(planner.histograms(name), first, last)
        return stored or keyframe_stats(runs, self._fps, camera.lead)

    def _enter(
        self,
        index: int,
        plan: EpisodePlan,
        aligned: dict[str, Aligned],
        broken: dict[str, NDArray[np.bool_]],
    ) -> NDArray[np.bool_]:
        """Enter an episode into the account; returns which rows (R,) are valid."""
        rows = plan.span.row_ns
        limit = self._options.max_age_ns
        valid = np.ones(len(rows), bool)
        for name, values in aligned.items():
            self._account.features[name].add(values, limit)
            valid &= values.found & (np.abs(values.age_ns) <= limit)
            valid &= np.isfinite(values.values).all(axis=1)
        tables = self._planners[plan.source.session].tables
        for name, camera in plan.cameras.items():
            valid &= np.abs(rows - tables[name].times_ns[camera.images]) <= limit
            if name in broken:
                valid &= ~broken[name]
        self._account.add_episode(index, plan, grid_ns(int(rows[0]), len(rows), self._fps), valid)
        return valid

    def _advance(self, images: int = 1) -> None:
        self._done += images
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _encoder(self, camera: str) -> Encoder:
        """What re-encodes a camera: as asked for, else in the codec of its remuxed episodes."""
        remuxed = Counter(self._codec(p, camera) for p in self._plans if p.cameras[camera].remuxed)
        own = next((codec for codec, _ in remuxed.most_common() if codec in REMUX_CODECS), "h264")
        return encoder_for(self._options.codec or own, self._options.gop, self._options.crf)

    def _codec(self, plan: EpisodePlan, camera: str) -> str:
        runs = plan.cameras[camera].runs
        if plan.cameras[camera].remuxed:
            return runs[0].index.codec
        return "hevc" if self._specs[camera].depth else self._encoders[camera].codec

    def _sole_encoder(self, camera: str) -> Encoder | None:
        """The encoder that made all images of a camera; None where some were copied."""
        return None if self._account.cameras[camera].remuxed else self._encoders[camera]

    def _open_account(self) -> Account:
        options = self._options
        clock = options.clock
        said = (
            f"the images of the camera {clock.camera}"
            if isinstance(clock, CameraClock)
            else f"a fixed grid of {clock.fps} rows a second from each episode's start"
        )
        account = Account(self._fps, said, options.align.value, options.max_age_ms)
        for source in self._sources:
            account.sources[source.session] = list(source.recordings) or [str(source.recording.path)]
        for name, spec in self._specs.items():
            if spec.dtype == "video":
                account.cameras[name] = CameraAccount()
        actions = {f.name for source in self._sources for f in source.features() if f.role is Role.ACTION}
        for name, spec in self._specs.items():
            if spec.dtype != "video":
                held = name in actions or options.align is Align.LATEST
                account.features[name] = FeatureAccount("latest" if held else options.align.value)
        account.lost += _lost(self._sources, self._specs)
        account.warnings += _made_up_times(self._sources)
        return account


def _agreed(sources: Sequence[ExportSource]) -> dict[str, FeatureSpec]:
    if not sources:
        raise _nothing([])
    specs = specs_of(sources[0])
    for source in sources[1:]:
        agree(specs, specs_of(source), source.session, sources[0].session)
    return specs


def _nothing(left_out: list[LeftOut]) -> UsageError:
    why = Counter(left.why for left in left_out)
    listed = "; ".join(f"{reason} ({count})" for reason, count in why.most_common(5))
    return UsageError(
        "there is no episode to export",
        expected="at least one episode that is not excluded and has two rows",
        fix=f"left out: {listed}" if listed else "name sessions or episodes: see `twinloop ls`",
    )


def _made_up_times(sources: Sequence[ExportSource]) -> list[str]:
    """A warning for streams whose stamps are index / rate: nothing here says when they were taken."""
    made_up = sorted(
        {
            feature.name
            for source in sources
            for feature in (*source.number_features(), *source.camera_features())
            if source.recording.streams[feature.stream].stamp_source is StampSource.GRID
        }
    )
    if not made_up:
        return []
    return [
        f"{', '.join(made_up)}: the source's times are a grid (index / rate), not measured; ages and distances "
        "here tell nothing of when the samples were taken"
    ]


def _lost(sources: Sequence[ExportSource], specs: dict[str, FeatureSpec]) -> list[str]:
    """What the recordings hold and LeRobot has no field for. All but the samples is kept in the sidecar."""
    lost = [f"true times: rows have only row / fps; see {FOLDER}/rows.parquet and {FOLDER}/times/"]
    described = f"see {FOLDER}/facts.json"
    if any(source.recording.calibration for source in sources):
        lost.append(f"calibration: {described}")
    if any(spec.dtype != "video" for spec in specs.values()):
        lost.append(f"units, frames and what actions are relative to: {described}")
        lost.append("precision: numbers are stored as 32-bit floats")
    lost.append(f"operator, site, rig, consent, outcome: see {FOLDER}/episodes.parquet and {FOLDER}/facts.json")
    for name, spec in specs.items():
        if spec.depth:
            lost.append(
                f"{name}: depth is 12-bit, logarithmic from 10 mm to 10 m (steps of 1.2 to 4.4 mm); "
                "zero, no measurement, becomes 10 mm; the exact 16 bits stay in the store"
            )
    homeless: dict[str, list[str]] = {}
    for source in sources:
        for feature in source.homeless_features():
            if feature.name != "task":  # that became the episodes' instructions
                said = f"{feature.name}: {source.kind(feature).value} has no place in LeRobot"
                homeless.setdefault(said, []).append(source.session)
        mapped = {feature.stream for feature in source.mapping.features}
        for name, stream in source.recording.streams.items():
            if name not in mapped:
                kept = f"; {described}" if stream.kind is Kind.CAMERA_INFO else ""
                homeless.setdefault(f"{name}: no feature names it{kept}", []).append(source.session)
    for said, sessions in homeless.items():
        where = "" if len(sessions) == len(sources) else f" (sessions {', '.join(sessions)})"
        lost.append(said + where)
    return lost
