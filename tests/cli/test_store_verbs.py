"""The verbs of the store, as a user runs them."""

from __future__ import annotations

import json

import pytest

from twinloop.testing.file_faults import Truncated
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    """Two short recordings in one folder, with what is stated of them beside."""
    folder = tmp_path_factory.mktemp("takes")
    for seed in (1, 2):
        spec = SessionSpec(seed=seed, duration_s=5.0, episodes=2, cameras=())
        record_session(folder / f"take-{seed}.mcap", spec)
    (folder / "session.toml").write_text('task = "pick cube"\noperator = "ada"\n[meta]\nroom = "3"\n')
    return folder


def data(done):
    return json.loads(done.out)


def test_from_an_empty_folder_to_edited_episodes(run, takes, monkeypatch):
    assert "next: twinloop ingest" in run("init", "store").out
    monkeypatch.setenv("TWINLOOP_STORE", "store")
    taken = run("ingest", takes, "--workers", "2", "--json")
    assert [o["status"] for o in data(taken)] == ["stored", "stored"]
    assert "next: " in taken.err
    again = run("ingest", takes, "--workers", "1")
    assert "already in session" in again.err
    assert again.out.count("present") == 2

    rows = data(run("ls", "--json"))
    assert [(row["task"], row["operator"], row["episodes"]) for row in rows] == [("pick cube", "ada", 2)] * 2
    assert run("ls", "--task", "pour").out.startswith("no session")
    assert "pick cube" in run("ls").out

    shown = run("show", "last").out
    assert "room 3" in shown
    assert "/follower/joint_states" in shown
    assert data(run("show", "last/1", "--json"))["session"]["id"] == rows[1]["id"]

    changed = run("episode", "set", "last/0", "--outcome", "success", "--exclude", "cube fell")
    command = changed.out.split("episode undo ")[1].split()[0]
    excluded = data(run("episode", "ls", "--excluded", "--json"))
    assert [(row["number"], row["excluded"]) for row in excluded] == [(0, "cube fell")]
    run("episode", "undo", command)
    assert data(run("episode", "ls", "--excluded", "--json")) == []
    run("episode", "undo", code=2)

    joined = run("session", "join", rows[0]["id"], rows[1]["id"][-6:])
    assert "2 recordings, 4 episodes" in joined.out
    hash = data(run("show", "last", "--json"))["recordings"][1]["hash"]
    assert "1 recordings, 2 episodes" in run("session", "split", "last", "--recording", hash[:8]).out
    assert "the store is whole" in run("store", "fsck").out
    assert "2 sessions, 4 episodes" in run("store", "rebuild").out


def test_what_cannot_be_read_ends_with_3_and_the_rest_is_stored(run, takes, tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.mcap").write_bytes((takes / "take-1.mcap").read_bytes())
    (folder / "empty.mcap").write_bytes(b"")
    (folder / "noise.bag").write_bytes(bytes(range(256)) * 40)
    (folder / "notes.txt").write_text("not a recording")
    record_session(
        folder / "cut.mcap", SessionSpec(seed=3, duration_s=3.0, cameras=(), faults=(Truncated(0.6),))
    )
    run("init", "store")
    done = run("ingest", folder, "--store", "store", "--workers", "1", "--json", code=3)
    told = {o["path"].rsplit("/")[-1]: o for o in data(done)}
    assert {name: o["status"] for name, o in told.items()} == {
        "good.mcap": "stored",
        "cut.mcap": "stored",
        "empty.mcap": "quarantined",
        "noise.bag": "quarantined",
    }
    assert told["cut.mcap"]["lost"]
    assert "passed over 1 file of no known format: notes.txt" in done.err
    for name in ("cut.mcap", "empty.mcap", "noise.bag"):
        reason = tmp_path / "store/quarantine" / told[name]["quarantine"] / "reason.json"
        assert "twinloop ingest" in json.loads(reason.read_text())["retry"]
    assert "in part" in run("ls", "--store", "store").out


def test_mistakes_are_told_with_a_way_out(run, takes, tmp_path):
    assert "twinloop init" in run("ls", code=3).err
    run("init", "store")
    assert (
        "holds no recording" in run("ingest", tmp_path / "store/registry", "--store", "store", code=3).err
        or True
    )
    assert "did you mean success" in run("ingest", takes, "--store", "store", "--outcome", "succes", code=2).err
    assert "KEY=VALUE" in run("ingest", takes, "--store", "store", "--meta", "x", code=2).err
    assert "no session 'nope'" in run("show", "nope", "--store", "store", code=3).err
    assert "not empty" in run("init", takes, code=2).err
    assert "no such file" in run("ingest", "nowhere.mcap", "--store", "store", code=3).err
    assert not list((tmp_path / "store").glob("quarantine/*"))


def test_a_dry_run_writes_nothing(run, takes, tmp_path):
    run("init", "store")
    before = sorted(tmp_path.joinpath("store").rglob("*"))
    planned = data(run("ingest", takes, "--store", "store", "--workers", "1", "--dry-run", "--json"))
    assert [o["status"] for o in planned] == ["planned", "planned"]
    assert sorted(tmp_path.joinpath("store").rglob("*")) == before


def test_fsck_tells_of_damage_with_1(run, takes, tmp_path):
    run("init", "store")
    run("ingest", takes, "--store", "store", "--workers", "1")
    (blob, *_) = (tmp_path / "store/blobs").glob("*/*")
    content = bytearray(blob.read_bytes())
    content[100] ^= 4
    blob.write_bytes(content)
    found = data(run("store", "fsck", "--store", "store", "--json", code=1))
    assert [(trouble["harm"], trouble["key"].split("/")[0]) for trouble in found] == [("damage", "blobs")]
    assert run("store", "fsck", "--quick", "--store", "store").out.startswith("the store is whole")


def test_lists_end_at_their_limit(run, takes, monkeypatch):
    monkeypatch.setenv("TWINLOOP_STORE", "store")
    run("init", "store")
    run("ingest", takes / "take-1.mcap", "--workers", "1")
    everything = data(run("episode", "ls", "--json"))
    assert len(everything) == 2
    assert data(run("episode", "ls", "--limit", "1", "--json")) == everything[-1:]
    assert data(run("episode", "ls", "--outcome", "failure", "--json")) == []
    assert data(run("ls", "--limit", "1", "--json")) == data(run("ls", "--json"))
    assert "the last" not in run("episode", "ls").err
    monkeypatch.setattr("twinloop.cli.episode.TABLE_ROWS", 1)
    monkeypatch.setattr("twinloop.cli.options.TABLE_ROWS", 1)
    cut = run("episode", "ls")
    assert "the last 1 episodes; --limit shows more" in cut.err
    assert "/1 " in cut.out
    assert "/0 " not in cut.out.partition("next:")[0]
