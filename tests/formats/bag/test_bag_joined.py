"""Which files are one split bag."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinloop.formats.bag.joined import split_order


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["run_10.bag", "run_9.bag", "run_8.bag"], ["run_8.bag", "run_9.bag", "run_10.bag"]),
        (["a.b_0.db3.zstd", "a.b_1.db3"], ["a.b_0.db3.zstd", "a.b_1.db3"]),
        (["2024-05-03_0.bag.active", "2024-05-03_1.bag"], ["2024-05-03_0.bag.active", "2024-05-03_1.bag"]),
        (["alone.bag"], ["alone.bag"]),
        (["run_0.bag", "run_2.bag"], None),
        (["run_0.bag", "walk_1.bag"], None),
        (["run.bag", "run_1.bag"], None),
        ([], None),
    ],
)
def test_split_order(names: list[str], ordered: list[str] | None) -> None:
    found = split_order(Path(name) for name in names)
    assert (found and [file.name for file in found]) == ordered
