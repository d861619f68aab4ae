"""A session of the store is checked as the file that it came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinloop.cli.main import app
from twinloop.testing import faults
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

WRIST = "/wrist/image/compressed"


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def codes(text: str) -> list[tuple[str, str, str | None]]:
    found = json.loads(text)["findings"]
    return sorted((f["severity"], f["code"], f["stream"]) for f in found if f["severity"] != "info")


@pytest.mark.parametrize(
    "planted", [(), (faults.DroppedSamples(WRIST, 3.0, 0.6),)], ids=["sound", "images dropped"]
)
def test_a_stored_session_is_checked_like_its_file(tmp_path: Path, planted: tuple[object, ...]) -> None:
    spec = SessionSpec(duration_s=8, cameras=(CameraSpec("wrist", 15.0, 48, 36),), tf_hz=50, faults=planted)  # type: ignore[arg-type]
    path = record_session(tmp_path / "take.mcap", spec).path
    store = str(tmp_path / "store")
    run("init", store)
    run("ingest", "--store", store, str(path))
    of_file = codes(run("check", str(path), "--json"))
    stored = run("check", "last", "--store", store, "--json")
    assert codes(stored) == of_file
    assert [code for _, code, _ in of_file] == (["TIM004"] if planted else [])
    assert json.loads(stored)["session"]
