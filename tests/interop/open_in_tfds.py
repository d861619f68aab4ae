"""Opens an RLDS export with tensorflow_datasets and compares every row with its source.

Run by ``make interop`` where TFDS_VENV names an environment that has tensorflow and tensorflow_datasets:
``open_in_tfds.py FOLDER``. Exits 1 where a value, an image or an instruction differs.
"""

# ruff: noqa: T201
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow_datasets as tfds

#: Levels of 255: what a colour conversion of another release may differ by, and what JPEG decoders do.
IMAGE = 2.0


def main(folder: Path) -> None:
    expected = np.load(folder / "expected.npz")
    builder = tfds.builder_from_directory(str(folder / "rlds"))
    worst = {"action": 0.0, "state": 0.0, "top": 0.0, "front": 0.0, "depth": 0.0}
    row = 0
    for episode in builder.as_dataset(split="train"):
        for step in tfds.as_numpy(episode["steps"]):
            observation = step["observation"]
            got = {"action": step["action"], **{key: observation[key] for key in worst if key != "action"}}
            assert step["language_instruction"].decode() == expected["task"][row], row
            for key, value in got.items():
                name = key if key == "action" else f"observation.{'' if key == 'state' else 'images.'}{key}"
                want = expected[name][row].astype(np.float64)
                difference = np.abs(np.squeeze(value).astype(np.float64) - want)
                worst[key] = max(
                    worst[key], float(difference.mean() if key in ("top", "front") else difference.max())
                )
            row += 1
    assert row == len(expected["task"]), row
    limits = {"action": 1e-6, "state": 1e-6, "top": IMAGE, "front": IMAGE, "depth": 0.0}
    for key, difference in worst.items():
        word = "ok" if difference <= limits[key] else "FAILED"
        print(f"rlds {key}: differs by at most {difference:.6g} (limit {limits[key]}) {word}")
    print(
        f"rlds: {row} rows, {builder.info.splits['train'].num_examples} episodes opened by tensorflow_datasets"
    )
    sys.exit(any(worst[key] > limits[key] for key in worst))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
