"""Statistics are those that LeRobot computes."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinloop.deliver.lerobot.stats import (
    QUANTILES,
    PixelStats,
    RunningAggregate,
    aggregate,
    images_to_sample,
    value_stats,
)

DATASET = "lerobot-v3-so101-SIM/local_dataset_ros2/data/lerobot_dataset_example"


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=200))
def test_quantiles_lie_within_a_bin_of_the_order_statistics(numbers):
    values = np.array(numbers)
    stats = value_stats(values)
    width = (values.max() - values.min() + 2e-10) / 5000
    for key, quantile in QUANTILES.items():
        target = int(np.ceil(quantile * len(values))) - 1
        exact = np.sort(values)[max(target, 0)]
        assert stats[key][0] <= exact + width + 1e-9
    assert stats["min"][0] == values.min()
    assert stats["mean"][0] == pytest.approx(values.mean(), abs=1e-9)
    assert stats["std"][0] == pytest.approx(values.std(), abs=1e-9)
    assert stats["count"].tolist() == [len(values)]


@given(st.lists(st.lists(st.floats(-100, 100), min_size=2, max_size=30), min_size=1, max_size=6))
def test_aggregated_mean_and_deviation_are_those_of_all(parts):
    arrays = [np.array(part) for part in parts]
    total = aggregate([value_stats(array) for array in arrays])
    together = np.concatenate(arrays)
    assert total["mean"][0] == pytest.approx(together.mean(), abs=1e-6)
    assert total["std"][0] == pytest.approx(together.std(), abs=1e-4)
    assert (total["min"][0], total["max"][0]) == (together.min(), together.max())
    assert total["count"].tolist() == [len(together)]


def test_integers_and_booleans_keep_whole_bounds():
    stats = value_stats(np.array([False, False, True]))
    assert (stats["min"].tolist(), stats["max"].tolist()) == ([False], [True])
    assert value_stats(np.arange(5))["max"].tolist() == [4]


def test_values_that_are_not_finite_are_left_out():
    stats = value_stats(np.array([[1.0, np.nan], [3.0, np.inf], [np.nan, np.nan]]))
    assert stats["mean"].tolist() == [2.0, 0.0]
    assert stats["count"].tolist() == [3]


def test_pixels_counted_are_pixels_averaged():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (5, 40, 60, 3), np.uint8)
    pixels = PixelStats()
    for image in images:
        pixels.add(image)
    stats = pixels.stats()
    flat = images.reshape(-1, 3) / 255
    assert stats["mean"].shape == (3, 1, 1)
    assert np.allclose(stats["mean"].ravel(), flat.mean(axis=0))
    assert np.allclose(stats["std"].ravel(), flat.std(axis=0))
    assert np.allclose(stats["q50"].ravel(), np.median(flat, axis=0), atol=1.5 / 255)
    assert stats["count"].tolist() == [5]
    counts = np.stack(
        [np.stack([np.bincount(i[..., c].ravel(), minlength=256) for c in range(3)]) for i in images]
    )
    histograms = PixelStats()
    histograms.add_histograms(counts.reshape(5, 768).astype(np.uint32))
    assert all((histograms.stats()[key] == value).all() for key, value in stats.items())


def test_large_images_are_thinned_to_about_150_pixels():
    pixels = PixelStats()
    image = np.zeros((480, 640, 3), np.uint8)
    image[::4, ::4] = 255
    pixels.add(image)
    assert pixels.stats()["min"].ravel().tolist() == [1.0, 1.0, 1.0]


def test_depth_stays_in_millimetres():
    pixels = PixelStats(depth=True)
    pixels.add(np.full((10, 10), 1234, np.uint16))
    assert pixels.stats()["mean"].tolist() == [[[1234.0]]]


def test_as_many_images_are_sampled_as_lerobot_samples():
    assert [len(images_to_sample(n)) for n in (0, 1, 60, 500, 1000, 20_000)] == [0, 1, 60, 105, 177, 1681]


def test_a_dataset_of_lerobots_own_has_the_same_statistics(test_data):
    """All but std of constant columns, whose rounding differs: theirs is the mean of squares' error."""
    root = test_data / DATASET
    data = pq.read_table(root / "data/chunk-000/file-000.parquet")
    episodes = pq.read_table(root / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    total = RunningAggregate()
    for episode in episodes:
        part = data.slice(episode["dataset_from_index"], episode["length"])
        for name in ("timestamp", "frame_index", "index"):
            stats = value_stats(np.asarray(part[name]))
            total.add({name: stats})
            for key, value in stats.items():
                assert np.allclose(value, episode[f"stats/{name}/{key}"], rtol=1e-4, atol=2e-3), (name, key)
    stated = json.loads((root / "meta/stats.json").read_text())
    for name, stats in total.stats().items():
        for key, value in stats.items():
            assert np.allclose(value, stated[name][key], rtol=1e-4, atol=2e-3), (name, key)
