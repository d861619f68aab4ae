"""The verb export: from a store to a dataset, with an account."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinloop.cli.export import COMMANDS
from twinloop.cli.main import app
from twinloop.core.errors import TwinloopError, UnknownNameError, UsageError
from twinloop.deliver.exporter import EXPORTS
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
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


def run(store: Path, *words: str, format: str = "lerobot"):
    result = CliRunner().invoke(app, ["export", format, "--store", str(store), *words])
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


@pytest.mark.parametrize(
    ("format", "words", "error", "said"),
    [
        ("lerobot", ("--format-version", "v4"), UnknownNameError, "v2.1"),
        ("rlds", ("--images", "bmp"), UnknownNameError, "png"),
        ("rlds", ("--name", "My Data"), UsageError, "snake case"),
        ("aloha", ("--images", "png"), UsageError, "own, jpeg or raw"),
        ("robomimic", ("--valid", "0.9"), UsageError, "from 0 to 0.5"),
        ("webdataset", ("--sample", "clip"), UnknownNameError, "episode"),
        ("webdataset", ("--shard-size", "0"), UsageError, "above 0"),
    ],
)
def test_options_of_formats_that_cannot_be_meant(store, format, words, error, said):
    with pytest.raises(error) as refused:
        run(store, "--dry-run", *words, format=format)
    assert said in str(refused.value)


def test_left_out_episodes_are_counted_by_reason(store, tmp_path):
    (first, *_) = [e.id for e in Store.find(str(store)).session("last").session.episodes]
    entries = Store.find(str(store)).edit_episodes([first], exclude="arm slipped")
    try:
        result = run(store, "--out", str(tmp_path / "out.hdf5"), format="robomimic")
    finally:
        Store.find(str(store)).undo(entries[0].command)
    assert "left out: 1 episode: excluded: arm slipped" in result.output
    assert "what was resampled, and by how much: " in result.output
    assert (tmp_path / "out.hdf5.twinloop/ACCOUNT.md").exists()


class _Counting:
    """A format of a plug-in: a file with the number of rows."""

    name, title, keeps, loses, extra = "counting", "row counts", "how many", "all else", None

    def export(self, sources, out, options, *, force=False, progress=None):
        account = export_lerobot(sources, None, ExportOptions(options.clock))
        if out is not None:
            out.write_text(str(account.rows))
        return account


def test_a_plug_in_brings_a_format(store, tmp_path):
    EXPORTS.register("counting")(_Counting())
    try:
        run(store, "--out", str(tmp_path / "rows.txt"), format="counting")
        assert int((tmp_path / "rows.txt").read_text()) > 50
        shown = CliRunner().invoke(app, ["export", "--help"]).output
        assert "counting" in shown and "Write row counts." in shown
        listed = json.loads(CliRunner().invoke(app, ["formats", "--json"]).stdout)["exports"]
        assert "counting" in [entry["name"] for entry in listed]
    finally:
        EXPORTS.unregister("counting")


def test_formats_lists_every_format_that_export_writes():
    listed = json.loads(CliRunner().invoke(app, ["formats", "--json"]).stdout)["exports"]
    assert {"mcap", *EXPORTS.names()} == {entry["name"] for entry in listed}
    assert set(COMMANDS) <= {entry["name"] for entry in listed}
    assert all(entry["title"] and entry["keeps"] and entry["loses"] for entry in listed)
