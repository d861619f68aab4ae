"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real recordings; tests that need it skip, with this reason, where it is not given."""
    folder = os.environ.get("TWINLOOP_TEST_DATA")
    if not folder:
        pytest.skip("TWINLOOP_TEST_DATA names no folder of real recordings")
    return Path(folder)
