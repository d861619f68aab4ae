"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["store.postgres"]

# A busy machine is no defect: examples have no deadline. Continuous integration tries the same ones each time.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--heavy", action="store_true", help="Run what is sized down, or left out, in full.")
    parser.addoption("--torture", action="store_true", help="Fuzz and kill as often as `make torture` does.")


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real recordings; tests that need it skip, with this reason, where it is not given."""
    folder = os.environ.get("TWINLOOP_TEST_DATA")
    if not folder:
        pytest.skip("TWINLOOP_TEST_DATA names no folder of real recordings")
    return Path(folder)
