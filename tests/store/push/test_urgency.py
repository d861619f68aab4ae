"""Interventions and failures are told from the rest by what recordings hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcap.writer import Writer

from twinloop.store.push.urgency import FAILURE, INTERVENTION, ORDINARY, urgency
from twinloop.testing.synthetic import SessionSpec, record_session


@pytest.fixture
def plain(tmp_path) -> Path:
    path = tmp_path / "intervention-failure.mcap"  # names are not believed
    record_session(path, SessionSpec(duration_s=2.0, cameras=(), follower_hz=20.0, leader_hz=0.0))
    return path


def with_topic(path: Path, topic: str, values: list[dict[str, object]]) -> Path:
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("Flag", "jsonschema", b'{"type": "object"}')
        channel = writer.register_channel(topic, "json", schema)
        for number, value in enumerate(values):
            writer.add_message(channel, number * 10**8, json.dumps(value).encode(), number * 10**8, number)
        writer.finish()
    return path


def test_ordinary(plain):
    assert urgency(plain).level == ORDINARY


@pytest.mark.parametrize(
    ("outcome", "level"), [("failure", FAILURE), ("aborted", FAILURE), ("success", ORDINARY)]
)
def test_what_is_stated_of_a_session(plain, outcome, level):
    (plain.parent / "session.toml").write_text(f'outcome = "{outcome}"\n')
    assert urgency(plain).level == level


def test_an_intervention_that_is_stated(plain):
    (plain.parent / "session.toml").write_text("[meta]\nintervention = true\n")
    assert urgency(plain).level == INTERVENTION


def test_a_topic_of_interventions(tmp_path):
    happened = with_topic(tmp_path / "a.mcap", "/operator/intervention", [{"why": "it slipped"}])
    assert urgency(happened).level == INTERVENTION
    assert "/operator/intervention" in urgency(happened).why
    silent = with_topic(tmp_path / "b.mcap", "/operator/intervention", [])
    assert urgency(silent).level == ORDINARY


def test_what_cannot_be_read_is_ordinary(tmp_path):
    (tmp_path / "a.mcap").write_bytes(b"nonsense")
    (tmp_path / "session.toml").write_text("nonsense")
    assert urgency(tmp_path / "a.mcap").level == ORDINARY


@pytest.mark.parametrize(("flags", "level"), [([0, 0, 0], ORDINARY), ([0, 1, 0], INTERVENTION)])
def test_a_flag_that_stayed_down_is_no_intervention(tmp_path, flags, level):
    with (path := tmp_path / "a.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2")
        schema = writer.register_schema("std_msgs/msg/Bool", "ros2msg", b"bool data\n")
        channel = writer.register_channel("/teleop/intervention", "cdr", schema)
        for number, flag in enumerate(flags):
            writer.add_message(channel, number * 10**8, b"\x00\x01\x00\x00" + bytes([flag]), number * 10**8)
        writer.finish()
    assert urgency(path).level == level
