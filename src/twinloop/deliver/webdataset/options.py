"""What a user chooses about WebDataset shards."""

from __future__ import annotations

from dataclasses import dataclass

from twinloop.core.errors import UnknownNameError, UsageError
from twinloop.deliver.frames import Images
from twinloop.deliver.options import RowOptions

SAMPLES = ("step", "episode")


@dataclass(frozen=True, slots=True)
class WebDatasetOptions(RowOptions):
    """How rows are made and written.

    Attributes:
        sample: what a sample is, a step or an episode (whose images are videos). shard_mb: when a new tar
            starts. images: of steps: own, png or jpeg. float32: numbers in 32 bits.
        jpeg_scale: quantiser of JPEG encoded here, 1 (best) to 31.
    """

    sample: str = "step"
    shard_mb: float = 500.0
    images: Images = Images.OWN
    jpeg_scale: int = 2
    float32: bool = False

    def __post_init__(self) -> None:
        RowOptions.__post_init__(self)
        if self.sample not in SAMPLES:
            raise UnknownNameError("sample", self.sample, SAMPLES)
        if not self.shard_mb > 0:
            raise UsageError(f"tar files of {self.shard_mb:g} MB", expected="--shard-size above 0")
        if self.images is Images.RAW:
            raise UsageError("WebDataset keeps images as files", expected="--images own, png or jpeg")
