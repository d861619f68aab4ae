"""What an export to LeRobot will do with each camera of each episode, before any of it is done."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING

from twinloop.deliver.lerobot.camera import CameraPlan, CameraRules, plan_camera
from twinloop.deliver.plan import EpisodePlan, Planner

if TYPE_CHECKING:
    import pyarrow as pa

    from twinloop.deliver.lerobot.options import ExportOptions
    from twinloop.deliver.source import ExportSource


@dataclass(frozen=True, slots=True)
class VideoPlan(EpisodePlan):
    """One episode of the dataset; `cameras`: feature -> how its images get in."""

    cameras: dict[str, CameraPlan]

    def camera_facts(self) -> dict[str, dict[str, object]]:
        """camera -> what the account says of it in this episode."""
        return {
            name: {
                "remuxed": camera.remuxed,
                "reasons": {reason.value: why for reason, why in camera.reasons.items()},
                "lead_images": camera.lead,
                "reencoded_first_rows": camera.head,
                "dropped": camera.dropped,
                "duplicated": camera.duplicated,
                "largest_true_minus_grid_ms": camera.grid_error_ns / 1e6,
            }
            for name, camera in self.cameras.items()
        }


class VideoPlanner(Planner[VideoPlan]):
    """Plans rows whose images lie in video files, remuxed where that changes nothing."""

    def __init__(self, source: ExportSource, options: ExportOptions) -> None:
        super().__init__(source, options)
        self._rules = options
        self.histograms = cache(self._histograms)

    def _histograms(self, camera: str) -> pa.Table | None:
        stats = self.source.image_stats
        return None if stats is None else stats(self.tables[camera].stream.name)

    def with_images(self, plan: EpisodePlan, fps: int) -> VideoPlan:
        """The plan with its cameras."""
        options = self._rules
        rules = CameraRules(
            fps,
            options.align,
            keep_mjpeg=options.keep_mjpeg,
            causal=options.causal,
            keep_lead=options.keep_lead and options.version != "v2.1",
            reencode=options.reencode,
        )
        cameras = {
            name: plan_camera(table, plan.span, rules, self.packets, self.is_depth(name))
            for name, table in self.tables.items()
        }
        known = {item.name: getattr(plan, item.name) for item in fields(EpisodePlan)}
        known["images"] = {name: camera.images for name, camera in cameras.items()}
        return VideoPlan(**known, cameras=cameras)
