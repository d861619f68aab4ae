"""Statistics of a remuxed camera's pixels, without decoding what is only copied.

They come from the histograms that the store took at ingest, else from the keyframes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.lerobot.stats import FeatureStats, PixelStats
from twinloop.deliver.pictures import keyframes_at
from twinloop.formats.video.pixels import to_pixels

#: Images of an episode that statistics are taken from at least.
_LEAST = 8

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from twinloop.deliver.lerobot.camera import Run


def stored_stats(histograms: pa.Table | None, start_ns: int, end_ns: int) -> FeatureStats | None:
    """Statistics of the images that a store sampled in [start_ns, end_ns]; None where it sampled none.

    `histograms` has columns `time_ns` (N,) int64 and `histogram` (N, 768).
    """
    if histograms is None or not histograms.num_rows:
        return None
    times = np.asarray(histograms.column("time_ns"))
    places = np.nonzero((times >= start_ns) & (times <= end_ns))[0]
    if not len(places):
        return None
    pixels = PixelStats()
    taken = histograms.column("histogram").take(places).combine_chunks()
    pixels.add_histograms(np.asarray(taken.flatten(), np.uint32).reshape(len(places), -1))
    return pixels.stats()


def keyframe_stats(runs: Sequence[Run], fps: int, lead: int = 0) -> FeatureStats:
    """Statistics over keyframes of `runs` after the first `lead` images: one a second as at ingest, but at
    least `_LEAST` of an episode if it has them. Where none is left, the one that begins the lead counts."""
    pixels = PixelStats()
    images = sum(run.stop - run.first for run in runs) - lead
    share = max(1 / fps, _LEAST / images)
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
