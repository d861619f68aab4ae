"""Statistics of features, per episode and aggregated, as lerobot 0.6.1 computes them.

Source: lerobot's ``datasets/compute_stats.py``: quantiles from histograms of 5000 bins; a dataset's min and
max are the episodes', its mean, std and quantiles their means weighted by count (std by Chan's parallel
formula). Unlike there, values that are not finite are left out: one NaN would poison a whole dataset's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
_BINS = 5000

#: min, max, mean, std, the quantiles (each (D,), or (C, 1, 1) for images) and count (1,).
FeatureStats = dict[str, "NDArray[np.generic]"]


def value_stats(values: NDArray[np.generic]) -> FeatureStats:
    """Statistics (D,) of values (R,) or (R, D), each column by itself."""
    table = values.reshape(len(values), -1)
    columns = [_column_stats(column) for column in table.T]
    stats: FeatureStats = {key: np.array([column[key] for column in columns]) for key in columns[0]}
    if values.dtype.kind in "ib":
        for key in ("min", "max"):
            stats[key] = stats[key].astype(values.dtype)
    stats["count"] = np.array([len(values)])
    return stats


def _column_stats(column: NDArray[np.generic]) -> dict[str, float]:
    finite = column.astype(np.float64)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return dict.fromkeys(("min", "max", "mean", "std", *QUANTILES), 0.0)
    stats = {
        "min": float(finite.min()),
        "max": float(finite.max()),
        "mean": float(finite.mean()),
        "std": float(finite.std()),
    }
    if len(finite) < 2:
        return stats | dict.fromkeys(QUANTILES, stats["mean"])
    edges = np.linspace(stats["min"] - 1e-10, stats["max"] + 1e-10, _BINS + 1)
    counts, _ = np.histogram(finite, bins=edges)
    return stats | _quantiles(counts, edges)


def _quantiles(counts: NDArray[np.int64], edges: NDArray[np.float64]) -> dict[str, float]:
    """Quantiles from a histogram, linear within a bin."""
    cumulated = np.cumsum(counts)
    found = {}
    for key, quantile in QUANTILES.items():
        target = quantile * cumulated[-1]
        place = int(np.searchsorted(cumulated, target))
        if place == 0:
            found[key] = float(edges[0])
            continue
        inside = (target - cumulated[place - 1]) / counts[place]
        found[key] = float(edges[place] + inside * (edges[place + 1] - edges[place]))
    return found


class PixelStats:
    """Statistics of the pixels of images, channel by channel, from counts of each value.

    Colour is scaled to [0, 1]; depth (one channel of uint16) stays in its unit.
    """

    def __init__(self, depth: bool = False) -> None:
        self._depth = depth
        self._counts = np.zeros((1, 65536) if depth else (3, 256), np.int64)
        self._images = 0

    def add(self, pixels: NDArray[np.unsignedinteger]) -> None:
        """Count an image (H, W, 3) uint8 or (H, W) uint16, thinned to about 150 pixels a side if larger
        than 300."""
        height, width = pixels.shape[:2]
        step = 1 if max(height, width) < 300 else max(width, height) // 150
        thinned = pixels[::step, ::step].reshape(-1, len(self._counts))
        for channel, counts in enumerate(self._counts):
            counts += np.bincount(thinned[:, channel], minlength=len(counts))
        self._images += 1

    def add_histograms(self, counts: NDArray[np.uint32]) -> None:
        """Count images (N, 768) by their histograms: 256 values each of red, green and blue."""
        self._counts += counts.sum(axis=0, dtype=np.int64).reshape(3, 256)
        self._images += len(counts)

    def stats(self) -> FeatureStats:
        """min, max, mean, std and quantiles (C, 1, 1), count (1,) images; of no image, zeros."""
        scale = 1.0 if self._depth else 255.0
        values = np.arange(self._counts.shape[1], dtype=np.float64)
        columns = [_counted_stats(values, counts) for counts in self._counts]
        stats: FeatureStats = {
            key: np.array([column[key] for column in columns]).reshape(-1, 1, 1) / scale for key in columns[0]
        }
        stats["count"] = np.array([self._images])
        return stats


def _counted_stats(values: NDArray[np.float64], counts: NDArray[np.int64]) -> dict[str, float]:
    total = counts.sum()
    if not total:
        return dict.fromkeys(("min", "max", "mean", "std", *QUANTILES), 0.0)
    there = values[counts > 0]
    mean = float((values * counts).sum() / total)
    stats = {
        "min": float(there[0]),
        "max": float(there[-1]),
        "mean": mean,
        "std": float(np.sqrt((counts * (values - mean) ** 2).sum() / total)),
    }
    edges = np.linspace(stats["min"] - 1e-10, stats["max"] + 1e-10, _BINS + 1)
    binned, _ = np.histogram(values[counts > 0], bins=edges, weights=counts[counts > 0])
    return stats | _quantiles(binned.astype(np.int64), edges)


def images_to_sample(images: int) -> NDArray[np.int64]:
    """Which of `images` LeRobot would look at: 100 up to about 500, then their number to the power 0.75."""
    if images <= 0:
        return np.zeros(0, np.int64)
    count = max(min(100, images), min(int(images**0.75), 10_000))
    return np.round(np.linspace(0, images - 1, count)).astype(np.int64)


def aggregate(stats: Iterable[FeatureStats]) -> FeatureStats:
    """Statistics of a dataset from its episodes'."""
    episodes = list(stats)
    shape = (-1,) + (1,) * episodes[0]["mean"].ndim
    counts = np.concatenate([episode["count"] for episode in episodes]).astype(np.float64).reshape(shape)
    total = max(counts.sum(), 1.0)

    def stacked(key: str) -> NDArray[np.float64]:
        return np.stack([episode[key] for episode in episodes]).astype(np.float64)

    mean = (stacked("mean") * counts).sum(axis=0) / total
    variance = ((stacked("std") ** 2 + (stacked("mean") - mean) ** 2) * counts).sum(axis=0) / total
    return {
        "min": np.stack([episode["min"] for episode in episodes]).min(axis=0),
        "max": np.stack([episode["max"] for episode in episodes]).max(axis=0),
        "mean": mean,
        "std": np.sqrt(variance),
        "count": np.array([int(counts.sum())]),
        **{key: (stacked(key) * counts).sum(axis=0) / total for key in QUANTILES},
    }


class RunningAggregate:
    """:func:`aggregate` over episodes as they come, for any number of them."""

    def __init__(self) -> None:
        self._so_far: dict[str, FeatureStats] = {}

    def add(self, episode: dict[str, FeatureStats]) -> None:
        """Take in the features of one episode."""
        for feature, stats in episode.items():
            known = self._so_far.get(feature)
            self._so_far[feature] = stats if known is None else aggregate([known, stats])

    def stats(self) -> dict[str, FeatureStats]:
        """feature -> statistics of all episodes so far."""
        return self._so_far
