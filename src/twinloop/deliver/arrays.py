"""Images of a camera as arrays of one shape, some megabytes at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.core.errors import UsageError, Where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.deliver.row_export import CameraRows

#: Bytes of images that are held before they are written.
_BATCH_BYTES = 16 << 20


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
