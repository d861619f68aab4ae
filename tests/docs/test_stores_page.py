"""The commands of docs/stores.md work as they stand, on a server that speaks S3."""

from __future__ import annotations

import logging
import re
import urllib.request
from pathlib import Path

import pytest
from test_commands import ROOT, commands, run

from twinloop.store import locations, object_cache
from twinloop.testing.synthetic import SessionSpec, record_session

PAGE = ROOT / "docs" / "stores.md"


@pytest.fixture
def robots(monkeypatch, tmp_path):
    """A server with the bucket ``robots``, and an environment that leads there."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/robots", method="PUT")).close()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("TWINLOOP_CACHE", str(tmp_path / "cache"))
    yield
    server.stop()


def test_stores_from_top_to_bottom(robots, tmp_path):
    record_session(tmp_path / "take.mcap", SessionSpec(duration_s=2.0, cameras=()))
    lines = [line for line in commands(PAGE) if "postgres" not in line]
    assert len(lines) >= 4
    for line in lines:
        run(line, tmp_path)


def test_every_variable_that_the_store_looks_at_is_explained():
    sources = "".join(Path(module.__file__).read_text() for module in (locations, object_cache))
    named = set(re.findall(r'"(TWINLOOP_[A-Z_]+|XDG_[A-Z_]+)"', sources))
    assert named == {"TWINLOOP_CACHE", "TWINLOOP_CACHE_BYTES", "XDG_CACHE_HOME"}
    for variable in named:
        assert f"`{variable}`" in PAGE.read_text()
