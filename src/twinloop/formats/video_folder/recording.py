"""A folder of videos as one recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import TwinloopError, Where
from twinloop.core.recording import Problem, Recording
from twinloop.core.stream import Batch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.formats.notes import Notes
    from twinloop.formats.video_folder.cameras import Camera

_BATCH_ROWS = 16_384


class VideoFolderRecording(Recording):
    """One image stream for each video file."""

    def __init__(
        self,
        path: Path,
        cameras: list[Camera],
        files: tuple[Path, ...],
        metadata: dict[str, str],
        calibration: dict[str, object],
        notes: Notes,
    ) -> None:
        super().__init__(
            path,
            "video-folder",
            files=files,
            streams={camera.name: camera.stream() for camera in cameras},
            metadata=metadata,
            calibration=calibration,
            notes=notes.all,
        )
        self._cameras = {camera.name: camera for camera in cameras}
        self._note = notes

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,  # noqa: ARG002  (images stay in their files)
    ) -> Iterator[Batch]:
        from twinloop.formats.video.probe import packet_index

        for name in self.check_names(streams):
            camera = self._cameras[name]
            try:
                index = packet_index(camera.path)
            except TwinloopError as error:
                self._note.add(Problem.CORRUPT, error.what, Where(file=str(camera.path), stream=name), None)
                continue
            if index.error:
                where = Where(file=str(camera.path), stream=name)
                self._note.add(Problem.TRUNCATED, index.error, where, None)
            yield from self._batches(camera, index.images, start_ns, end_ns)

    def _batches(
        self, camera: Camera, images: np.ndarray, start_ns: int | None, end_ns: int | None
    ) -> Iterator[Batch]:
        times, pts, held = camera.samples(images, self._note)
        keep = np.ones(len(pts), np.bool_)
        if start_ns is not None:
            keep &= times["stamp_ns"] >= start_ns
        if end_ns is not None:
            keep &= times["stamp_ns"] < end_ns
        rows = np.flatnonzero(keep)
        for first in range(0, len(rows), _BATCH_ROWS):
            part = rows[first : first + _BATCH_ROWS]
            size = len(part)
            constants = pa.array(np.zeros(size, np.int32))
            columns = {name: pa.array(values[part]) for name, values in times.items()} | {
                "frame_id": pa.DictionaryArray.from_arrays(constants, pa.array([""])),
                "width": pa.array(np.full(size, camera.header.width, np.int32)),
                "height": pa.array(np.full(size, camera.header.height, np.int32)),
                "encoding": pa.DictionaryArray.from_arrays(constants, pa.array([camera.header.codec])),
                "segment": pa.array(np.zeros(size, np.int32), mask=~held[part]),
                "pts": pa.array(pts[part], mask=~held[part]),
            }
            yield Batch(camera.name, pa.RecordBatch.from_pydict(columns))
