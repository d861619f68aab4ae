"""What a user chooses about an RLDS dataset."""

from __future__ import annotations

from dataclasses import dataclass

from twinloop.deliver.frames import Images
from twinloop.deliver.options import RowOptions


@dataclass(frozen=True, slots=True)
class RldsOptions(RowOptions):
    """How rows are made and written.

    Attributes:
        name: of the dataset, in the names of its files. shard_mb: when a new file starts.
        images: own, png or jpeg. jpeg_scale: quantiser of JPEG encoded here, 1 (best) to 31.
        float64: keep numbers as 64-bit floats, bit by bit (as tensors encoded as bytes).
        times: a feature ``timestamp_ns`` in each step, the row's true time.
    """

    name: str = "twinloop"
    shard_mb: float = 200.0
    images: Images = Images.OWN
    jpeg_scale: int = 2
    float64: bool = False
    times: bool = True
