"""The reader `scene-infos`: infos of mmdetection3d with the pictures and sweeps that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twinloop.core.errors import TwinloopError, UnreadableError, Where
from twinloop.core.recording import Attachment, Problem
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.core.calibration import CalibrationItem
    from twinloop.core.recording import Recording
    from twinloop.formats.file_times import FileTimes
    from twinloop.formats.gathered import Source
    from twinloop.formats.nuscenes.infos import Infos, Shots
    from twinloop.formats.reader import ReadOptions

_HEAD = 4096
_TAIL = 1 << 16
_MOST = 10_000
_MEDIA = frozenset({".png", ".jpg", ".bin"})
#: The columns of a sweep's file, as many as it has.
_POINT = ("x", "y", "z", "intensity", "ring", "time")
_KITTI_PLACES = ("training/image_2", "training/velodyne", "testing/image_2", "testing/velodyne")


class SceneInfosReader:
    """Infos: see the package's page."""

    name = "scene-infos"
    title = "Scene infos of mmdetection3d (nuScenes, KITTI)"
    keeps = "pictures and sweeps with their own times, boxes, poses of the car, calibration"
    loses = "earlier sweeps that a sample refers to; they are kept in the raw file"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A JSON file with metainfo and data_list; a folder with such a file directly inside."""
        if head:
            return _is_infos(path, head)
        return path.is_dir() and bool(_files(path))

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Decode the infos and look for the files that they name.

        Raises:
            UnreadableError: there are no infos, or they hold no sample.
        """
        from twinloop.core.calibration import encode_calibration
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.nuscenes.infos import read_infos

        notes = Notes()
        folder = path if path.is_dir() else path.parent
        sources: dict[str, Source] = {}
        items: list[CalibrationItem] = []
        metadata: dict[str, str] = {}
        files = _files(path) if path.is_dir() else [path]
        if not files:
            raise UnreadableError(
                "there are no infos", where=str(path), expected="JSON with metainfo and data_list"
            )
        used: list[Path] = list(files)
        for file in files:
            try:
                infos = read_infos(file)
            except TwinloopError as error:
                notes.add(Problem.CORRUPT, error.what, Where(file=str(file)), None)
                continue
            prefix = f"{file.stem}/" if len(files) > 1 else ""
            for source in _sources(infos, folder, prefix, used, notes):
                sources[source.stream.name] = source
            items += list(_calibration(infos, file, notes))
            metadata |= {f"{prefix}{key}": str(value) for key, value in infos.metainfo.items()}
            metadata[f"{prefix}samples"] = str(len(infos.samples))
        if not sources:
            said = f": {notes.all[0].message}" if notes.all else ""
            raise UnreadableError(f"the infos hold no sample{said}", where=str(path))
        others = sorted(folder.glob("*.json")) if path.is_dir() else []
        if path.is_dir() and (unnamed := _unnamed(folder, {*used, *others})):
            metadata["files_not_named"] = unnamed
        return GatheredRecording(
            path,
            self.name,
            files=(*used, *others),
            sources=sources.values(),
            metadata=metadata,
            attachments=tuple(
                Attachment(file.name, "application/json", file.stat().st_size, None, str(file))
                for file in others
                if file not in files
            ),
            calibration=encode_calibration(items),
            notes=notes,
        )


def _unnamed(folder: Path, used: set[Path]) -> str:
    """Pictures and sweeps in the folder that no infos name: they are no part of the recording."""
    found = []
    for number, file in enumerate(folder.rglob("*")):
        if number >= _MOST:
            break
        if file.suffix.lower() in _MEDIA and file not in used:
            found.append(str(file.relative_to(folder)))
    return ", ".join(sorted(found)[:20]) + (f" and {len(found) - 20} more" if len(found) > 20 else "")


def _is_infos(path: Path, head: bytes) -> bool:
    """Whether a file is one of infos; its list may begin after a long metainfo."""
    from twinloop.formats.nuscenes.infos import is_infos

    if not head.lstrip()[:512].startswith(b"{") or b'"metainfo"' not in head[:512]:
        return False
    if is_infos(head):
        return True
    try:
        with path.open("rb") as file:
            return is_infos(file.read(_TAIL))
    except OSError:
        return False


def _files(folder: Path) -> list[Path]:
    found = []
    try:
        for number, file in enumerate(folder.iterdir()):
            if number >= _MOST:
                break
            if file.suffix.lower() == ".json" and file.is_file():
                with file.open("rb") as opened:
                    if _is_infos(file, opened.read(_HEAD)):
                        found.append(file)
    except OSError:
        return []
    return sorted(found)


def _sources(infos: Infos, folder: Path, prefix: str, used: list[Path], notes: Notes) -> Iterator[Source]:
    from twinloop.core.kinds import StampSource
    from twinloop.formats.image_files import ImageFiles
    from twinloop.formats.nuscenes.info_boxes import box_streams
    from twinloop.formats.nuscenes.poses import ego_poses
    from twinloop.formats.point_files import PointFiles, load_floats

    for camera, shots in infos.cameras.items():
        found, times = _found(infos, camera, shots, folder, StampSource.EXPOSURE_START, notes)
        if found:
            used += found
            yield ImageFiles(f"{prefix}{camera}", found, times, notes, frame_id=camera)
    lidar = _lidar_name(infos)
    if infos.lidar.named:
        found, times = _found(infos, lidar, infos.lidar, folder, StampSource.SENSOR, notes)
        used += found
        if found:
            count = infos.lidar.facts.get("num_pts_feats")
            columns = _POINT[: count if isinstance(count, int) and 3 <= count <= len(_POINT) else 4]
            yield PointFiles(f"{prefix}{lidar}", found, times, load_floats(*columns), notes, frame_id=lidar)
    for boxes in (*ego_poses(infos), *box_streams(infos, lidar)):
        yield boxes.renamed(f"{prefix}{boxes.stream.name}")


def _found(
    infos: Infos, name: str, shots: Shots, folder: Path, source: Any, notes: Notes
) -> tuple[list[Path], FileTimes]:
    """The files of a sensor that are there, with their times; those that are not are noted."""
    import numpy as np

    from twinloop.core.clock import Clock
    from twinloop.formats.file_times import FileTimes
    from twinloop.formats.scene_files import find_file, note_missing
    from twinloop.formats.time_column import epoch_of

    places = _KITTI_PLACES if infos.is_kitti else (f"samples/{name}", f"sweeps/{name}")
    held = [find_file(folder, named, places) for named in shots.named]
    note_missing(name, [n for n, file in zip(shots.named, held, strict=True) if file is None], folder, notes)
    rows = [row for row, file in enumerate(held) if file is not None]
    seq = np.array([shots.samples[row] for row in rows], np.int64)
    stamps = [shots.stamps[row] for row in rows]
    files = [file for file in held if file is not None]
    if any(stamp is None for stamp in stamps) or not stamps:
        return files, FileTimes(None, seq)
    times = np.array(stamps, np.int64)
    return files, FileTimes(times, seq, source, Clock(epoch_of(int(times[0]))))


def _lidar_name(infos: Infos) -> str:
    """nuScenes writes it into the names of the files: ``...__LIDAR_TOP__...``."""
    parts = infos.lidar.named[0].split("__") if infos.lidar.named else []
    return parts[1] if len(parts) == 3 else "lidar"


def _calibration(infos: Infos, file: Path, notes: Notes) -> Iterator[CalibrationItem]:
    from twinloop.core.calibration import CameraCalibration, CameraModel
    from twinloop.formats.calibrations.values import floats, frame, pixels, pose_of_matrix

    lidar = _lidar_name(infos)
    for name, shots in (*infos.cameras.items(), (lidar, infos.lidar)):
        facts = shots.facts
        try:
            if facts.get("cam2img"):
                matrix = floats(facts["cam2img"], 9, 16)
                side = 3 if len(matrix) == 9 else 4
                width, height = pixels([facts.get("width"), facts.get("height")])
                intrinsics = (matrix[0], matrix[side + 1], matrix[2], matrix[side + 2])
                extra: dict[str, object] = {"cam2img": list(matrix)} if side == 4 else {}
                yield CameraCalibration(name, CameraModel.PINHOLE, width, height, intrinsics, extra=extra)
            if facts.get("cam2ego") or facts.get("lidar2ego"):
                yield frame("ego", name, pose_of_matrix(facts.get("cam2ego") or facts["lidar2ego"]))
            elif facts.get("lidar2cam"):
                yield frame(lidar, name, pose_of_matrix(facts["lidar2cam"]).inverse())
        except UnreadableError as error:
            notes.add(Problem.BAD_VALUE, f"calibration of {name}: {error.what}", Where(file=str(file)))


READER = SceneInfosReader()
