"""The reader `nuscenes`: a folder with the tables of a version, pictures and sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class NuScenesReader:
    """nuScenes: see the package's page."""

    name = "nuscenes"
    title = "nuScenes (tables v1.0)"
    keeps = "every picture and sweep with its own time, boxes over time, poses, calibration, scenes as episodes"
    loses = "maps and CAN bus; of several calibrations of a sensor the first is told"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder with sample_data.json, calibrated_sensor.json and ego_pose.json, there or in ``v1.0-*``."""
        from twinloop.formats.nuscenes.tables import tables_folder

        return not head and path.is_dir() and tables_folder(path) is not None

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Decode the tables and look for the files that they name.

        Raises:
            UnreadableError: the tables of data and sensors do not read, or nothing that they name is there.
        """
        from twinloop.core.calibration import encode_calibration
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.nuscenes.scenes import Scenes
        from twinloop.formats.nuscenes.tables import tables_folder

        folder = tables_folder(path)
        if folder is None:
            raise UnreadableError("there are no tables", where=str(path), expected="v1.0-*/sample_data.json")
        notes = Notes()
        scenes = Scenes(path if folder != path else path.parent, folder, notes)
        sources = list(scenes.sources())
        if not sources:
            raise UnreadableError("nothing that the tables name is there", where=str(path))
        return GatheredRecording(
            path,
            self.name,
            files=scenes.files,
            sources=sources,
            episodes=scenes.episodes(),
            metadata={"version": folder.name},
            calibration=encode_calibration(scenes.calibration()),
            notes=notes,
        )


READER = NuScenesReader()
