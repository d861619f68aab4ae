"""ALOHA's HDF5: a file an episode, ``episode_N.hdf5``, as ACT's recorder writes it and its trainers read it.

Layout: https://github.com/tonyzhaozh/aloha (record_episodes.py): ``/observations/qpos``, ``qvel``, ``effort``,
``/observations/images/<camera>``, ``/action``; attributes ``sim`` and ``compress``; ``/compress_len``. Beyond
that, ``/observations/timestamp`` (s) and the attribute ``language_instruction``, as later recorders have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.deliver.frames import Images
from twinloop.deliver.hdf5.arrays import create_file, write_images, write_truth
from twinloop.deliver.keys import keys_of
from twinloop.deliver.options import RowOptions
from twinloop.deliver.row_export import EpisodeRows, RowExport
from twinloop.deliver.sidecar import FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import h5py

    from twinloop.deliver.account import Account
    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.job import Job, Progress
    from twinloop.deliver.plan import EpisodePlan
    from twinloop.deliver.row_export import CameraRows
    from twinloop.deliver.source import ExportSource

#: ALOHA's name -> (names of features that are it, the field of joint states that is it).
_JOINTS = {
    "qpos": (("observation.qpos", "observation.state"), "position"),
    "qvel": (("observation.qvel", "observation.velocity"), "velocity"),
    "effort": (("observation.effort",), "effort"),
}
#: Files of images that are held before they are written.
_BATCH = 64


@dataclass(frozen=True, slots=True)
class AlohaOptions(RowOptions):
    """How rows are made and written.

    Attributes:
        images: raw, jpeg, or own: JPEG where all images of all cameras are JPEG already, else raw.
        jpeg_scale: quantiser of JPEG encoded here, 1 (best) to 31. float32: numbers in 32 bits.
    """

    images: Images = Images.OWN
    jpeg_scale: int = 2
    float32: bool = False


def export_aloha(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: AlohaOptions,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Account:
    """Write the episodes of `sources` as the folder `out`; see `Exporter.export`.

    Raises:
        UsageError: no feature is qpos, or none is an action.
    """
    if options.images is Images.PNG:
        raise UsageError("ALOHA keeps images as pixels or JPEG", expected="--images own, jpeg or raw")
    return RowExport(sources, options, _Aloha(options), progress).run(out, force)


@dataclass(frozen=True, slots=True)
class _Aloha:
    options: AlohaOptions
    title: str = "ALOHA HDF5"
    single_file: bool = False

    @property
    def jpeg_scale(self) -> int:
        return self.options.jpeg_scale

    def forms(self, stored: dict[str, str], specs: dict[str, FeatureSpec]) -> dict[str, str]:
        """One attribute tells of all cameras whether they are compressed."""
        colour = {form for name, form in stored.items() if not specs[name].depth}
        compress = self.options.images is Images.JPEG or (
            self.options.images is Images.OWN and colour == {"jpeg"}
        )
        return {name: "jpeg" if compress and not specs[name].depth else "raw" for name in stored}

    def lost(self, job: Job[EpisodePlan]) -> list[str]:
        joints = joint_features(job.specs)
        if "qpos" not in joints:
            raise UsageError(
                "ALOHA needs qpos, and no feature is the position of joints",
                expected=f"a feature of: {', '.join(keys_of(job.specs).observations) or 'none is there'}",
                fix="name it observation.state in the mapping: twinloop map",
            )
        if not keys_of(job.specs).actions:
            raise UsageError(
                "ALOHA needs an action, and no feature is one",
                fix='give a feature the role "action" in the mapping: twinloop map',
            )
        lost = [
            f"units, frames, calibration, names of elements: see {FOLDER}/facts.json",
            f"operator, site, rig, consent: see {FOLDER}/episodes.parquet",
            f"times of samples between rows: see {FOLDER}/times/",
            "outcome: ALOHA has no place for it; see the group twinloop of each file",
        ]
        if self.options.float32:
            lost.append("precision: numbers are stored as 32-bit floats (--float32)")
        homeless = [name for name in keys_of(job.specs).observations if name not in joints.values()]
        homeless += keys_of(job.specs).others
        lost += [
            f"{name}: is none of qpos, qvel, effort; see the group twinloop of each file" for name in homeless
        ]
        return lost

    def open(self, path: Path, export: RowExport) -> _Writer:
        compress = any(form.form == "jpeg" for form in export.forms.values())
        return _Writer(path, export, self.options, compress)


def joint_features(specs: dict[str, FeatureSpec]) -> dict[str, str]:
    """``qpos``, ``qvel``, ``effort`` -> the feature that is it: by its name, else the only one of that field
    of joint states that a policy sees."""
    observations = keys_of(specs).observations
    found: dict[str, str] = {}
    for joint, (names, column) in _JOINTS.items():
        named = [name for name in names if name in observations]
        fields = [name for name in observations if specs[name].described.get("field") == column]
        if named or len(fields) == 1:
            found[joint] = (named or fields)[0]
    return found


@dataclass(slots=True)
class _Writer:
    root: Path
    export: RowExport
    options: AlohaOptions
    compress: bool

    def add(self, episode: EpisodeRows) -> None:
        keys, specs = keys_of(self.export.specs), self.export.specs
        dtype = np.float32 if self.options.float32 else np.float64
        joints = joint_features(specs)
        with create_file(self.root / f"episode_{episode.index}.hdf5", "ALOHA HDF5") as file:
            file.attrs["sim"] = False
            file.attrs["compress"] = self.compress
            file.attrs["language_instruction"] = episode.plan.task
            file.attrs["fps"] = episode.fps
            file["action"] = keys.action(episode.values, len(episode)).astype(dtype)
            observations = file.create_group("observations")
            for joint, name in joints.items():
                observations[joint] = episode.values[name].astype(dtype)
            observations["timestamp"] = episode.row_ns / 1e9
            images = observations.create_group("images")
            lengths = []
            for name, key in keys.cameras.items():
                camera = episode.cameras[name]
                if self.export.forms[name].form == "jpeg":
                    lengths.append(_write_files(images, key, camera))
                else:
                    write_images(images, key, camera, specs[name].shape)
            if self.compress:
                file["compress_len"] = np.array(lengths, np.float32)
            write_truth(file, episode)
            rest = file.create_group("twinloop/features")
            for name in (*keys.observations, *keys.others):
                if name not in joints.values():
                    rest[name] = episode.values[name]

    def close(self) -> None:
        """Each episode's file is finished already."""

    def abandon(self) -> None:
        """No file is open between episodes."""


def _write_files(group: h5py.Group, key: str, camera: CameraRows) -> list[int]:
    """Encoded images (R, B) uint8, each padded with zeros to the longest; their lengths."""
    rows = len(camera.images)
    target: h5py.Dataset | None = None
    lengths: list[int] = []
    held: list[bytes] = []
    for data in camera.files():
        held.append(data)
        if len(held) < _BATCH and len(lengths) + len(held) < rows:
            continue
        width = max(len(item) for item in held)
        if target is None:
            target = group.create_dataset(key, (rows, width), "u1", maxshape=(rows, None), chunks=(1, width))
        elif width > target.shape[1]:
            target.resize(width, axis=1)
        padded = np.zeros((len(held), target.shape[1]), np.uint8)
        for row, item in enumerate(held):
            padded[row, : len(item)] = np.frombuffer(item, np.uint8)
        target[len(lengths) : len(lengths) + len(held)] = padded
        lengths += [len(item) for item in held]
        held = []
    return lengths
