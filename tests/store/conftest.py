"""Small recordings and stores for the tests of the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinloop.store.store import Store
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

SMALL = SessionSpec(
    seed=4,
    duration_s=3.0,
    cameras=(CameraSpec("scene", 20.0, width=96, height=72), CameraSpec("wrist", 10.0, width=96, height=72)),
    imu_hz=100.0,
    tf_hz=20.0,
)


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short session of an arm with two cameras."""
    path = tmp_path_factory.mktemp("recordings") / "short.mcap"
    record_session(path, SMALL)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store.create(tmp_path / "store")
