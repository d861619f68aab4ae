"""Small recordings to export."""

from __future__ import annotations

from pathlib import Path

import pytest
from export_lab import Lab

from twinloop.deliver.source import ExportSource


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture
def session(lab: Lab) -> ExportSource:
    """Two episodes of 30 rows: cameras of H.264 and JPEG, depth, state, a leader, an action."""
    return lab.session()
