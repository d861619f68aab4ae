"""Mending, clearing, mirrors and erasure as a user runs them."""

from __future__ import annotations

import json

import pytest

from twinloop.testing.store_faults import StoreFault
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    path = tmp_path_factory.mktemp("takes") / "take.mcap"
    record_session(path, SessionSpec(seed=1, duration_s=3.0, cameras=(), follower_hz=50.0, leader_hz=0.0))
    return path


@pytest.fixture
def run(run, take):
    """Runs twinloop in a folder with a filled store; findings and failures name the next command."""

    def twinloop(*words, code=0):
        done = run(*words, code=code)
        assert code in (0, 2) or "next: " in done.out + done.err
        return done

    run("init", "store")
    run("ingest", take, "--store", "store", "--operator", "ana", "--workers", "1")
    return twinloop


def test_damage_is_named_and_mended(run, tmp_path):
    planted = StoreFault("flipped", "table").plant(tmp_path / "store")
    told = run("store", "fsck", "--store", "store", code=1)
    assert planted.key in told.out
    assert "next: twinloop store fsck --store store --repair" in told.out
    done = json.loads(run("store", "fsck", "--repair", "--json", "--store", "store").out)
    assert [act["key"] for act in done["mended"]] == [planted.key]
    assert done["left"] == []
    assert "whole" in run("store", "fsck", "--store", "store").out


def test_leftovers_alone_are_no_failure(run, tmp_path):
    stray = tmp_path / "store" / "blobs" / "aa" / ("a" * 64)
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"12345")
    told = run("store", "fsck", "--store", "store", "--quick")
    assert "leftover" in told.out
    assert "next: twinloop store gc" in told.out
    assert (
        json.loads(run("store", "gc", "--grace", "0", "--dry-run", "--json", "--store", "store").out)["bytes"]
        == 5
    )
    assert stray.exists()
    assert "freed 5 bytes" in run("store", "gc", "--grace", "0", "--store", "store").out
    assert not stray.exists()
    assert json.loads(run("store", "rebuild", "--json", "--store", "store").out)["sessions"] == 1


def test_a_mirror_and_what_it_cannot_copy(run, tmp_path):
    done = json.loads(run("mirror", "store", "copy", "--limit", "900MB/s", "--json").out)
    assert done["copied"] > 3
    assert "copied 0 objects" in run("mirror", "store", "copy", "--verify").out
    StoreFault("flipped", "blob").plant(tmp_path / "store")
    held = run("mirror", "store", "other", code=3)
    assert "held back" in held.err
    assert "restored from" in run("store", "fsck", "--repair", "--from", "copy", "--store", "store").out


def test_an_erasure_is_shown_confirmed_and_waits_for_mirrors(run, tmp_path, monkeypatch):
    run("mirror", "store", "copy")
    shown = run("erase", "--subject", "ana", "--reason", "asked", "--dry-run", "--store", "store")
    assert "take.mcap" in shown.out
    assert "goes too: registry/operators/ana/1.json" in shown.out
    monkeypatch.setattr("typer.confirm", lambda *_: False)
    run("erase", "--subject", "ana", "--reason", "asked", "--store", "store", code=1)
    (tmp_path / "copy").rename(tmp_path / "away")
    waits = run("erase", "--subject", "ana", "--reason", "asked", "--yes", "--json", "--store", "store", code=3)
    (pending,) = json.loads(waits.out)["pending"]
    assert pending["mirror"] == str(tmp_path / "copy")
    assert "next: twinloop erase --store store --resume" in waits.err
    assert "next: twinloop erase" in run("store", "fsck", "--store", "store", code=1).out
    (tmp_path / "away").rename(tmp_path / "copy")
    run("erase", "--resume", "--store", "store")
    for store in ("store", "copy"):
        assert "whole" in run("store", "fsck", "--store", store).out
        assert json.loads(run("ls", "--store", store, "--json").out) == []


def test_a_mirror_that_is_gone_is_forgotten(run, tmp_path):
    run("mirror", "store", "copy")
    (tmp_path / "copy").rename(tmp_path / "away")
    run("erase", "--session", "last", "--reason", "asked", "--yes", "--store", "store", code=3)
    run("mirror", "store", "copy", "--forget")
    run("erase", "--resume", "--store", "store")


@pytest.mark.parametrize(
    "words",
    [
        ("store", "fsck", "--from", "x"),
        ("store", "fsck", "--repair", "--quick"),
        ("store", "fsck", "--repair", "--from", "nowhere"),
        ("store", "gc", "--grace", "soon"),
        ("erase",),
        ("erase", "--subject", "ana", "--session", "last"),
        ("erase", "--subject", "ana", "--yes"),
        ("erase", "--subject", "ana", "--reason", "x", "--json"),
        ("erase", "--subject", "nobody", "--reason", "x"),
    ],
)
def test_what_cannot_be_meant(run, words):
    said = run(*words, "--store", "store", code=2)
    assert "expected:" in said.err


@pytest.mark.parametrize("words", [("store", "store"), ("store", "copy", "--limit", "fast")])
def test_mirrors_that_cannot_be_meant(run, words):
    run("mirror", *words, code=2)
