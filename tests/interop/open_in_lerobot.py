"""Opens an exported dataset with the real lerobot and compares every row with its source.

Run by ``make interop`` in lerobot's own environment: ``open_in_lerobot.py FOLDER``. Exits 1 where a value,
an image or a task differs.
"""

# ruff: noqa: T201
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from lerobot.datasets import LeRobotDataset
from lerobot.datasets.compute_stats import aggregate_stats, get_feature_stats
from lerobot.scripts.convert_dataset_v21_to_v30 import convert_dataset

#: What a decoder and a colour conversion of another release may differ by, in levels of 255; and what an
#: encoder may add to that.
COPIED, ENCODED = 1, 12
DEPTH_MM = 3


def main(folder: Path) -> None:
    expected = np.load(folder / "expected.npz")
    remuxed = set(expected["remuxed"].tolist())
    failed = False
    # lerobot reads v2.1 by its own converter to v3.0.
    convert_dataset("local/interop", root=folder / "dataset-v2.1", push_to_hub=False)
    # Without leads, first groups are re-encoded.
    for name, copied in (("dataset", remuxed), ("dataset-without-leads", set()), ("dataset-v2.1", set())):
        for backend in backends():
            dataset = LeRobotDataset("local/interop", root=folder / name, video_backend=backend)
            for feature, difference in compare(dataset, expected).items():
                limit = limit_of(feature, copied)
                failed |= difference > limit
                word = "FAILED" if difference > limit else "ok"
                print(f"{name} {backend} {feature}: differs by at most {difference:.6g} (limit {limit}) {word}")
        check_window(folder / name)
        check_stats(dataset, expected)
        print(f"{name}: {len(dataset)} rows, {dataset.num_episodes} episodes opened by lerobot")
    sys.exit(failed)


def check_window(root: Path) -> None:
    """Rows with their neighbours in time, as policies are trained on."""
    windows = {"action": [0, 1 / 30, 2 / 30], "observation.images.top": [-1 / 30, 0]}
    dataset = LeRobotDataset("local/interop", root=root, video_backend="pyav", delta_timestamps=windows)
    item = dataset[5]
    assert item["action"].shape == (3, 2)
    assert item["observation.images.top"].shape[:2] == (2, 3)


def backends() -> list[str]:
    """The video backends that load here: torchcodec needs a system FFmpeg."""
    try:
        from torchcodec.decoders import VideoDecoder  # noqa: F401
    except (ImportError, OSError, RuntimeError) as error:
        print(f"torchcodec does not load here and is left out: {str(error).splitlines()[0]}")
        return ["pyav"]
    return ["torchcodec", "pyav"]


def compare(dataset: LeRobotDataset, expected) -> dict[str, float]:
    """The largest difference of each feature over all rows."""
    worst: dict[str, float] = {}
    for row in range(len(dataset)):
        item = dataset[row]
        assert item["task"] == expected["task"][row], (row, item["task"])
        assert item["index"].item() == row
        for name in expected.files:
            if name in ("task", "remuxed"):
                continue
            got = item[name].numpy().astype(np.float64)
            want = expected[name][row].astype(np.float64)
            if name.endswith("depth"):
                measured = want > 0  # zero, no measurement, becomes the smallest depth
                difference = np.abs(got[0] - want)[measured].max()
            elif name.startswith("observation.images."):
                difference = np.abs(got * 255 - want.transpose(2, 0, 1)).mean(axis=(1, 2)).max()
            else:
                difference = np.abs(got - want).max()
            worst[name] = max(worst.get(name, 0.0), float(difference))
    return worst


def limit_of(name: str, remuxed: set[str]) -> float:
    if name.endswith("depth"):
        return DEPTH_MM
    if name.startswith("observation.images."):
        return COPIED if name in remuxed else ENCODED
    return 0.0


def check_stats(dataset: LeRobotDataset, expected) -> None:
    """The statistics of numbers are those that lerobot computes itself."""
    episode_of = np.array(dataset.hf_dataset.with_format("numpy")["episode_index"])
    for name in ("observation.state", "action"):
        parts = [
            {name: get_feature_stats(expected[name][episode_of == episode], axis=0, keepdims=False)}
            for episode in np.unique(episode_of)
        ]
        own = aggregate_stats(parts)[name]
        for key, value in own.items():
            if key not in dataset.meta.stats[name]:
                continue  # v2.1 has no quantiles
            ours = np.asarray(dataset.meta.stats[name][key])
            assert np.allclose(ours, value, atol=2e-3), (name, key, ours, value)
    print("statistics agree with lerobot's own")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
