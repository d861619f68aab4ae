"""The reader `rgbd-frames`: see the package's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError
from twinloop.formats.notes import Notes, some

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.gathered import Source
    from twinloop.formats.reader import ReadOptions


class RgbdFramesReader:
    """Frames of an RGB-D camera."""

    name = "rgbd-frames"
    title = "RGB-D frames with poses (7-Scenes)"
    keeps = "pictures, depth and poses by frame number, intrinsics"
    loses = "nothing; there are no times"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder with files ``frame-<number>.depth.png`` and poses or colour pictures of the same form."""
        if head or not path.is_dir():
            return False
        from twinloop.formats.rgbd.frames import frame_files

        found = frame_files(path)
        return "depth" in found and len(found) > 1

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """List the files, read the header of the first picture and the intrinsics.

        Raises:
            UnreadableError: there are no frames.
        """
        import numpy as np

        from twinloop.core.calibration import encode_calibration
        from twinloop.formats.file_times import FileTimes
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.image_files import ImageFiles
        from twinloop.formats.rgbd.frames import FramePoseFiles, camera_of, frame_files, numbers_missing

        frames = frame_files(path)
        if not frames:
            raise UnreadableError("there are no frames", where=str(path), expected="frame-<number>.depth.png")
        notes = Notes()
        sources: list[Source] = []
        for name in ("color", "depth"):
            if files := frames.get(name):
                seq = np.array([number for number, _ in files], np.int64)
                said = {"unit": "mm"} if name == "depth" else {}
                pictures = [file for _, file in files]
                sources.append(
                    ImageFiles(name, pictures, FileTimes(None, seq), notes, frame_id="camera", attributes=said)
                )
        if poses := frames.get("pose"):
            sources.append(FramePoseFiles(poses, notes))
        numbers = sorted({number for files in frames.values() for number, _ in files})
        missing = {name: numbers_missing(files, numbers) for name, files in frames.items()}
        depth = next((source.stream for source in sources if source.stream.name == "depth"), None)
        size = None
        if depth and "width" in depth.attributes:
            size = int(depth.attributes["width"]), int(depth.attributes["height"])
        intrinsics = path / "camera-intrinsics.txt"
        return GatheredRecording(
            path,
            self.name,
            files=[
                *(file for files in frames.values() for _, file in files),
                *([intrinsics] if intrinsics.is_file() else []),
            ],
            sources=sources,
            metadata={"frames": some(numbers)}
            | {f"numbers_missing/{name}": some(left_out) for name, left_out in missing.items() if left_out},
            calibration=encode_calibration(camera_of(path, size, notes)),
            notes=notes,
        )


READER = RgbdFramesReader()
