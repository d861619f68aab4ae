"""The verb export: from a store to a dataset, with an account."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinloop.cli.main import app
from twinloop.core.errors import TwinloopError, UnknownNameError, UsageError
from twinloop.store.ingest import ingest
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    record_session(folder / "a.mcap", SessionSpec(seed=5, duration_s=4.0, episodes=2))
    ingest(Store.create(folder / "store"), folder / "a.mcap", IngestOptions())
    return folder / "store"


def run(store: Path, *words: str):
    result = CliRunner().invoke(app, ["export", "lerobot", "--store", str(store), *words])
    if isinstance(result.exception, TwinloopError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_a_dataset_is_written_and_the_next_step_named(store, tmp_path):
    result = run(store, "--out", str(tmp_path / "out"))
    assert "2 episodes" in result.output
    assert "observation.images.scene: 0 remuxed, 2 re-encoded because of mjpeg (2)" in result.output
    assert "ACCOUNT.md" in result.output
    assert result.output.splitlines()[-1].startswith("next: ")
    assert json.loads((tmp_path / "out/meta/info.json").read_text())["fps"] == 30


def test_a_dry_run_prints_the_account_and_writes_nothing(store, tmp_path):
    result = run(store, "--dry-run", "--out", str(tmp_path / "out"))
    assert "# What this export would do to the recordings" in result.output
    assert "would have 2 episodes" in result.output
    assert not (tmp_path / "out").exists()


def test_json_is_the_account_alone(store):
    result = run(store, "--dry-run", "--json", "--clock", "fixed", "--fps", "10", "--max-age", "200")
    account = json.loads(result.stdout)
    assert (account["schema"], account["fps"], account["max_age_ms"]) == (1, 10, 200)
    assert account["cameras"]["observation.images.wrist"]["reencoded_episodes"] == 2


def test_one_episode_of_a_session(store):
    result = run(store, "last/1", "--dry-run", "--json")
    assert json.loads(result.stdout)["episodes_total"] == 1


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ((), UsageError, "--out PATH"),
        (("--dry-run", "--clock", "wrist"), UsageError, "camera:NAME"),
        (("--dry-run", "--clock", "fixed"), UsageError, "--fps N"),
        (("--dry-run", "--clock", "camera:front"), UnknownNameError, "observation.images.wrist"),
        (("--dry-run", "--align", "future"), UsageError, "latest, nearest, interp"),
        (("--dry-run", "--codec", "vp9"), UnknownNameError, "h264"),
        (("--dry-run", "--clock", "fixed", "--fps", "0"), UsageError, "from 1 to"),
        (("--dry-run", "--clock", "fixed", "--fps", "1000000000"), UsageError, "from 1 to"),
        (("--dry-run", "--max-age", "-1"), UsageError, "0 ms or more"),
        (("--dry-run", "--max-age", "nan"), UsageError, "0 ms or more"),
    ],
)
def test_what_cannot_be_meant_is_refused(store, words, error, said):
    with pytest.raises(error) as refused:
        run(store, *words)
    assert said in str(refused.value)


def test_a_folder_that_is_there_needs_force(store, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(UsageError, match="exists already"):
        run(store, "--out", str(out))
    run(store, "--out", str(out), "--force")
    assert (out / "meta/info.json").exists()
