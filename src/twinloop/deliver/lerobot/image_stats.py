"""Statistics of a remuxed camera's pixels, from its keyframes: nothing between them is decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.lerobot.pictures import keyframes_at
from twinloop.deliver.lerobot.stats import FeatureStats, PixelStats, images_to_sample
from twinloop.formats.video.pixels import to_pixels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.deliver.lerobot.camera import Run


def keyframe_stats(runs: Sequence[Run], lead: int = 0) -> FeatureStats:
    """Statistics over the keyframes of `runs` after the first `lead` images, as many as LeRobot would look
    at images. Where no keyframe is left, the one that begins the lead counts."""
    pixels = PixelStats()
    images = sum(run.stop - run.first for run in runs) - lead
    share = len(images_to_sample(images)) / images
    for number, run in enumerate(runs):
        first = run.first + (lead if number == 0 else 0)
        keyframes = first + np.nonzero(run.index.keyframe[first : run.stop])[0]
        if not len(keyframes):
            keyframes = np.array([run.first])
        wanted = max(1, min(len(keyframes), round(share * (run.stop - first))))
        chosen = keyframes[np.round(np.linspace(0, len(keyframes) - 1, wanted)).astype(int)]
        for picture in keyframes_at(run.index, chosen):
            pixels.add(to_pixels(picture))
    return pixels.stats()
