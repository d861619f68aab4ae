"""Ids, errors, registry, finding: the small types."""

import json

import numpy as np
import pytest

from twinloop.core.errors import MissingExtraError, TwinloopError, UnknownNameError, UsageError, Where
from twinloop.core.finding import CheckReport, Finding, Severity
from twinloop.core.ids import is_ulid, new_ulid
from twinloop.core.kinds import LAYOUTS, Kind
from twinloop.core.registry import Registry
from twinloop.core.stream import Payload


def test_ulids_sort_by_time_and_are_unique():
    ids = [new_ulid(ms) for ms in range(1_700_000_000_000, 1_700_000_000_500)]
    assert ids == sorted(ids)
    assert len({new_ulid() for _ in range(1000)}) == 1000
    assert all(is_ulid(i) for i in ids)
    assert not is_ulid("8" + ids[0][1:])
    assert not is_ulid(ids[0].lower())


def test_errors_say_what_where_expected_and_fix():
    error = TwinloopError("it broke", where=Where("a.mcap", "/imu", byte=7), expected="peace", fix="try again")
    assert str(error).splitlines() == [
        "it broke",
        "  where:    a.mcap, stream /imu, byte 7",
        "  expected: peace",
        "  fix:      try again",
    ]
    assert "twinloop[sim]" in str(MissingExtraError("mujoco", "sim", "the cell"))


def test_registry_loads_entry_points_and_names_near_matches():
    formats: Registry[object] = Registry("twinloop.formats", "format")
    formats.register("invented")(object())
    assert "invented" in formats.names()
    with pytest.raises(UnknownNameError, match="did you mean invented"):
        formats.get("inventd")


def test_findings_survive_json_with_their_nanoseconds():
    finding = Finding(
        code="TIM003",
        name="gap",
        severity=Severity.ERROR,
        message="a hole",
        stream="/imu",
        start_ns=1_780_000_000_123_456_789,
        where=Where("x/a.mcap", byte=3),
        value=5.0,
    )
    text = json.dumps(CheckReport("x/a.mcap", findings=(finding,)).to_json())
    assert '"1780000000123456789"' in text
    assert Finding.from_json(json.loads(text)["findings"][0]) == finding


def test_fingerprints_follow_the_place_not_the_folder_or_the_number():
    one = Finding("A1", "n", Severity.INFO, "m", where=Where("x/a.mcap"), value=1.0)
    moved = Finding("A1", "n", Severity.INFO, "other words", where=Where("y/a.mcap"), value=2.0)
    elsewhere = Finding("A1", "n", Severity.INFO, "m", where=Where("x/a.mcap"), episode=2)
    assert one.fingerprint == moved.fingerprint != elsewhere.fingerprint


def test_payloads_are_views_and_cannot_reach_outside():
    buffer = np.arange(10, dtype=np.uint8)
    payload = Payload(buffer, np.array([2, 8]), np.array([3, 2]))
    assert [bytes(p) for p in payload] == [bytes([2, 3, 4]), bytes([8, 9])]
    with pytest.raises(UsageError):
        Payload(buffer, np.array([8]), np.array([3]))


def test_every_kind_has_a_layout():
    assert set(LAYOUTS) == set(Kind)
