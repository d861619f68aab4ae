"""Arrays of an episode into HDF5, some megabytes at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.errors import MissingExtraError, UsageError, Where

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import h5py
    from numpy.typing import NDArray

    from twinloop.deliver.row_export import CameraRows, EpisodeRows

#: Bytes of images that are held before they are written.
_BATCH_BYTES = 16 << 20


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


def batches(camera: CameraRows, shape: tuple[int, ...]) -> Iterator[tuple[int, NDArray[Any]]]:
    """(first row, images (N, *shape)) of a camera's rows.

    Raises:
        UsageError: an image has another shape.
    """
    dtype = np.uint16 if shape[-1] == 1 else np.uint8
    rows = max(1, _BATCH_BYTES // (int(np.prod(shape)) * np.dtype(dtype).itemsize))
    held = np.empty((min(rows, len(camera.images)), *shape), dtype)
    first = filled = 0
    for pixels in camera.pixels():
        if pixels.shape != shape:
            raise UsageError(
                f"an image is {pixels.shape[1]} x {pixels.shape[0]}, the first was {shape[1]} x {shape[0]}",
                where=Where(stream=camera.table.stream.name),
                fix="an array holds images of one size: export the sessions apart",
            )
        held[filled] = pixels
        filled += 1
        if filled == len(held):
            yield first, held
            first, filled = first + filled, 0
    if filled:
        yield first, held[:filled]


def write_images(group: h5py.Group, key: str, camera: CameraRows, shape: tuple[int, ...]) -> None:
    """A dataset (R, H, W, channels), one image a chunk."""
    dtype = "u2" if shape[-1] == 1 else "u1"
    target = group.create_dataset(key, (len(camera.images), *shape), dtype, chunks=(1, *shape))
    for first, images in batches(camera, shape):
        target[first : first + len(images)] = images


def write_truth(group: h5py.Group, episode: EpisodeRows) -> None:
    """The group `twinloop` of an episode: true times, validity, where it comes from."""
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
