"""Arrays of an episode into HDF5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import MissingExtraError
from twinloop.deliver.arrays import batches
from twinloop.deliver.row_stamps import row_stamps, said

if TYPE_CHECKING:
    from pathlib import Path

    import h5py

    from twinloop.deliver.row_export import CameraRows, EpisodeRows


def create_file(path: Path, needed_for: str) -> h5py.File:
    """A new HDF5 file.

    Raises:
        MissingExtraError: h5py is not installed.
    """
    try:
        import h5py
    except ImportError:
        raise MissingExtraError("h5py", "hdf5", needed_for) from None
    return h5py.File(path, "w")


def write_images(group: h5py.Group, key: str, camera: CameraRows, shape: tuple[int, ...]) -> None:
    """A dataset (R, H, W, channels), one image a chunk."""
    dtype = "u2" if shape[-1] == 1 else "u1"
    target = group.create_dataset(key, (len(camera.images), *shape), dtype, chunks=(1, *shape))
    for first, images in batches(camera, shape):
        target[first : first + len(images)] = images


def write_truth(group: h5py.Group, episode: EpisodeRows) -> None:
    """The group `twinloop` of an episode: true times and what they are, validity, where it comes from."""
    plan = episode.plan
    truth = group.create_group("twinloop")
    truth["row_ns"] = episode.row_ns
    truth["valid"] = episode.valid
    sources = truth.create_group("source_ns")
    for name, times in episode.source_ns.items():
        sources[name] = times
    truth.attrs["session"] = plan.source.session
    truth.attrs["episode"] = plan.episode.id
    truth.attrs["outcome"] = plan.episode.outcome.value
    truth.attrs["instruction"] = plan.task
    for name, value in said(row_stamps(plan.source)).items():
        truth.attrs[name] = value
