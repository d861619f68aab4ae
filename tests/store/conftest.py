"""Small recordings and stores for the tests of the store."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from care import copy_of, fill, record_takes

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

_numbers = count()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("every_store")
    if marker and "store" in metafunc.fixturenames:
        some = ["local"] if marker.kwargs.get("heavy") else ["local", "memory"]
        every = ["local", "memory", "s3"]
        metafunc.parametrize("store", every if metafunc.config.getoption("--heavy") else some, indirect=True)


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short session of an arm with two cameras."""
    path = tmp_path_factory.mktemp("recordings") / "short.mcap"
    record_session(path, SMALL)
    return path


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store: in a folder, or where the test's parameter says."""
    kind = getattr(request, "param", "local")
    if kind == "local":
        return Store.create(tmp_path / "store")
    if kind == "memory":
        return Store.create(f"memory://test-{next(_numbers)}/store")
    return Store.create(f"{request.getfixturevalue('bucket')}/store")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[tuple[str, int]]:
    """Host and port of moto's S3."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture
def bucket(s3_server: tuple[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty bucket; the environment says how to reach it, and caches of this test alone."""
    host, port = s3_server
    name = f"bucket-{next(_numbers)}"
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/{name}", method="PUT")).close()
    for variable, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "TWINLOOP_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(variable, value)
    return f"s3://{name}"


@pytest.fixture(scope="session")
def takes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of recordings for `whole`: see `care.record_takes`."""
    folder = tmp_path_factory.mktemp("care") / "takes"
    record_takes(folder)
    return folder


@pytest.fixture(scope="session")
def whole(takes: Path) -> Path:
    """The folder of a store that has something of everything. Only copies of it are changed."""
    store = Store.create(takes.parent / "store")
    fill(store, takes)
    return store.work


@pytest.fixture
def kept(whole: Path, tmp_path: Path) -> Store:
    """A copy of `whole`."""
    return copy_of(whole, tmp_path / "kept")
