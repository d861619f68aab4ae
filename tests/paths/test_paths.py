"""What survives each path is what docs/formats.md says."""

from __future__ import annotations

import pytest
from journey import INTO, OUT, Workshop
from make_page import PAGE, RESULTS, page
from survival import COLUMNS, LOST, load, survived


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("paths"))


def test_the_page_says_what_was_found():
    results = load(RESULTS)
    assert tuple(results) == INTO and all(tuple(outs) == OUT for outs in results.values())
    assert PAGE.read_text() == page(results), "run: python tests/paths/make_page.py --page"


@pytest.mark.parametrize("out", OUT)
def test_out_of_the_recording(workshop, out):
    assert survived(workshop, "mcap", out) == load(RESULTS)["mcap"][out]


@pytest.mark.parametrize("into", [name for name in INTO if name != "mcap"])
def test_through_a_format_and_back_to_it(workshop, into):
    assert survived(workshop, into, into) == load(RESULTS)[into][into]


@pytest.mark.heavy
@pytest.mark.parametrize("into", INTO)
def test_all_paths(workshop, into, request):
    if not request.config.getoption("--heavy"):
        pytest.skip("the others run by default; --heavy runs all")
    assert {out: survived(workshop, into, out) for out in OUT} == load(RESULTS)[into]


def test_values_and_images_survive_every_path():
    for into, outs in load(RESULTS).items():
        for out, found in outs.items():
            assert set(found) == set(COLUMNS)
            assert LOST not in (found["values"], found["images"]), (into, out)
