"""The reader `video-folder`: a folder of video files, or one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.notes import Notes
from twinloop.formats.video_folder.magic import is_video, named_as_videos, video_files

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class VideoFolderReader:
    """Video files of one or more cameras, with or without a table of times."""

    name = "video-folder"
    title = "Videos with a table of times (folder or single file)"
    keeps = (
        "every image as encoded, the table's capture times, one stream a camera, calibration that lies beside"
    )
    loses = "sound; without a table there are only the container's times (grid where the rate is constant)"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A video file, or a folder with video files directly inside and no recording of another kind."""
        if head:
            return is_video(head)
        return path.is_dir() and not (path / "meta" / "info.json").exists() and bool(video_files(path))

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002  (nothing to say)
        """Read the containers' headers and the tables of times.

        Raises:
            UnreadableError: not one video opens.
        """
        from twinloop.formats.calibrations.beside import calibration_files, read_beside
        from twinloop.formats.video.probe import VideoHeader, video_header
        from twinloop.formats.video_folder.cameras import Camera
        from twinloop.formats.video_folder.recording import VideoFolderRecording
        from twinloop.formats.video_folder.times_table import find_times

        folder = path if path.is_dir() else path.parent
        videos = video_files(path) if path.is_dir() else [path]
        notes = Notes()
        empty = [file for file in named_as_videos(folder) if file not in videos] if path.is_dir() else []
        for file in empty:
            notes.add(Problem.CORRUPT, "it is named as a video and holds none", Where(file=str(file)), None)
        headers: dict[Path, VideoHeader] = {}
        last = UnreadableError("the folder holds no video file", expected="MP4, Matroska, WebM or AVI files")
        for video in videos:
            try:
                headers[video] = video_header(video)
            except UnreadableError as error:
                notes.add(Problem.CORRUPT, error.what, Where(file=str(video)), None)
                last = error
        if not headers:
            raise UnreadableError(
                last.what if len(videos) == 1 else f"not one of {len(videos)} videos opens: {last.what}",
                where=str(path),
                expected=last.expected,
                fix=last.fix,
            )
        times = find_times(folder, list(headers), {v: h.rate_hz for v, h in headers.items()}, notes)
        stems = [video.stem for video in headers]
        cameras = [
            Camera(video.stem if stems.count(video.stem) == 1 else video.name, video, header, times.get(video))
            for video, header in headers.items()
        ]
        for camera in cameras:
            if camera.header.images is not None:
                camera.note_count(camera.header.images, notes)
        if times:
            for camera in cameras:
                if camera.times is None:
                    notes.add(
                        Problem.COUNT,
                        "no table has times for this video, though others have them; it is on its own clock",
                        Where(file=str(camera.path), stream=camera.name),
                    )
        tables = sorted({found.file for found in times.values()})
        calibrated = calibration_files(folder, headers)
        calibration, facts = read_beside(calibrated, [camera.name for camera in cameras], notes)
        metadata = {"times": ", ".join(table.name for table in tables) or "the containers' pts"} | facts
        files = (*videos, *empty, *tables)
        return VideoFolderRecording(path, cameras, files, metadata, calibration, notes)


READER = VideoFolderReader()
