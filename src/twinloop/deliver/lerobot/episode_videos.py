"""The images of episodes into video files: remuxed where that changes nothing, else encoded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.lerobot.camera import REMUX_CODECS, Run
from twinloop.deliver.lerobot.encode import Encoder, encode_rows, encoder_beside, encoder_for
from twinloop.deliver.lerobot.image_stats import keyframe_stats, stored_stats
from twinloop.deliver.lerobot.plan import VideoPlan, VideoPlanner
from twinloop.deliver.lerobot.stats import FeatureStats, PixelStats, images_to_sample
from twinloop.deliver.lerobot.video_account import VideoAccount
from twinloop.formats.video.probe import packet_index

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.deliver.job import Job
    from twinloop.deliver.lerobot.camera import CameraPlan
    from twinloop.deliver.lerobot.options import ExportOptions
    from twinloop.deliver.lerobot.video_files import CameraFiles, VideoPlace

#: Files of this name hold an episode's images between being encoded and going into the dataset's files.
ENCODING = "encoding-"


@dataclass(frozen=True, slots=True)
class WrittenVideos:
    """An episode's videos: camera -> where it lies, its statistics, rows (R,) that show another image."""

    places: dict[str, VideoPlace] = field(default_factory=dict)
    stats: dict[str, FeatureStats] = field(default_factory=dict)
    broken: dict[str, NDArray[np.bool_]] = field(default_factory=dict)


class EpisodeVideos:
    """Writes the cameras of episodes, and enters into the job's account what happened to them.

    Attributes:
        cameras: camera -> its account. encoders: camera -> what encodes those of its images that are.
    """

    def __init__(self, job: Job[VideoPlan], options: ExportOptions) -> None:
        self.job = job
        self.options = options
        self.cameras = {name: VideoAccount() for name, spec in job.specs.items() if spec.is_camera}
        job.account.cameras.update(self.cameras)
        self.encoders = {camera: self._encoder(camera) for camera in self.cameras}

    def pretend(self, plan: VideoPlan) -> None:
        """Enter an episode into the account, of which nothing is written."""
        for name, camera in plan.cameras.items():
            gop = camera.gop if camera.remuxed else self.encoders[name].gop
            self.cameras[name].add(camera, self._codec(plan, name), 0, gop)

    def write(self, plan: VideoPlan, files: dict[str, CameraFiles], root: Path) -> WrittenVideos:
        """Write an episode's cameras into their `files`; `root` is for what lies between.

        Raises:
            UnreadableError: none of the images of a camera decodes.
        """
        written = WrittenVideos()
        for name, camera in plan.cameras.items():
            before = self.job.done
            if camera.remuxed:
                runs = [*self._head(plan, name, camera, root), *camera.runs]
                written.places[name] = files[name].append(runs, camera.lead)
                written.stats[name] = self._copied_stats(plan, name, camera, runs)
                gop = camera.gop
            else:
                encoder = self.encoders[name]
                run, broken, stats = self._encode(plan, name, camera.images, encoder, root)
                written.places[name] = files[name].append([run])
                written.broken[name], written.stats[name] = broken, stats
                gop = 2 if self.job.specs[name].depth else encoder.gop
            undecodable = int(written.broken[name].sum()) if name in written.broken else 0
            self.cameras[name].add(camera, self._codec(plan, name), undecodable, gop)
            self.job.advance(len(plan) - (self.job.done - before))
        return written

    def _head(self, plan: VideoPlan, name: str, camera: CameraPlan, root: Path) -> list[Run]:
        """The rows before the first keyframe, encoded so that they fit before the copied packets."""
        if not camera.head:
            return []
        encoder = encoder_beside(encoder_for("h264", self.options.gop, self.options.crf))
        return [self._encode(plan, name, camera.images[: camera.head], encoder, root)[0]]

    def _encode(
        self, plan: VideoPlan, name: str, images: NDArray[np.int64], encoder: Encoder, root: Path
    ) -> tuple[Run, NDArray[np.bool_], FeatureStats]:
        """Images encoded into a file that lasts until the next is; which do not decode; statistics."""
        planner = self.job.planner(plan)
        depth = self.job.specs[name].depth
        pixels = PixelStats(depth)
        piece = root / f"{ENCODING}{name}.mp4"
        broken = encode_rows(
            planner.tables[name],
            images,
            piece,
            self.job.fps,
            encoder,
            planner.packets,
            depth=depth,
            seen=pixels.add,
            wanted=frozenset(images_to_sample(len(images)).tolist()),
            on_row=self.job.advance,
        )
        index = packet_index(piece)
        return Run(index, 0, len(index)), broken, pixels.stats()

    def _copied_stats(self, plan: VideoPlan, name: str, camera: CameraPlan, runs: list[Run]) -> FeatureStats:
        planner = self.job.planner(plan)
        assert isinstance(planner, VideoPlanner)
        first, last = planner.tables[name].times_ns[camera.images[[0, -1]]].tolist()
        stored = stored_stats(planner.histograms(name), first, last)
        return stored or keyframe_stats(runs, self.job.fps, camera.lead)

    def _encoder(self, camera: str) -> Encoder:
        """What re-encodes a camera: as asked for, else in the codec of its remuxed episodes."""
        remuxed = Counter(self._codec(p, camera) for p in self.job.plans if p.cameras[camera].remuxed)
        own = next((codec for codec, _ in remuxed.most_common() if codec in REMUX_CODECS), "h264")
        return encoder_for(self.options.codec or own, self.options.gop, self.options.crf)

    def _codec(self, plan: VideoPlan, camera: str) -> str:
        runs = plan.cameras[camera].runs
        if plan.cameras[camera].remuxed:
            return runs[0].index.codec
        return "hevc" if self.job.specs[camera].depth else self.encoders[camera].codec

    def sole_encoder(self, camera: str) -> Encoder | None:
        """The encoder that made all images of a camera; None where some were copied."""
        return None if self.cameras[camera].remuxed else self.encoders[camera]
