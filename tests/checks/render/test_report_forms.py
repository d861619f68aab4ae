from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from rich.console import Console

from twinloop.checks.render.json import SCHEMA, render_json
from twinloop.checks.render.text import print_report
from twinloop.core.errors import Where
from twinloop.core.finding import CheckReport, Finding, RuleNote, Severity


def report(places: int = 7) -> CheckReport:
    gaps = tuple(
        Finding(
            code="TIM004",
            name="gap",
            severity=Severity.ERROR,
            message=f"silent for {k} ms [not markup]",
            fix="cut it here",
            episode=k,
            stream="/camera",
            start_ns=1_700_000_000_000_000_001,
            end_ns=1_700_000_000_300_000_001,
            start_s=1.25,
            end_s=1.55,
            clock="unix",
            where=Where(file="a.mcap", stream="/camera", row=12),
            value=300.5,
            limit=50.0,
            unit="ms",
            confidence=0.9,
        )
        for k in range(places)
    )
    lag = Finding("SYN004", "action_state_lag", Severity.INFO, "commands lead", value=None)
    return CheckReport(
        "a.mcap", None, (*gaps, lag), (RuleNote("VID001", "no images"),), (RuleNote("ZZZ001", "it crashed"),)
    )


def valid(value: Any, schema: dict[str, Any], at: str = "report") -> None:
    """The part of JSON Schema that the contract uses."""
    if "const" in schema:
        assert value == schema["const"], at
        return
    if "enum" in schema:
        assert value in schema["enum"], at
        return
    types = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "array": list,
        "object": dict,
        "null": type(None),
    }
    allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(isinstance(value, types[name]) for name in allowed), f"{at} is {value!r}"
    if isinstance(value, str) and "pattern" in schema:
        assert re.search(schema["pattern"], value), at
    if isinstance(value, list):
        for position, item in enumerate(value):
            valid(item, schema["items"], f"{at}[{position}]")
    if isinstance(value, dict):
        assert set(value) == set(schema["required"]) == set(schema["properties"]), at
        for name, item in value.items():
            valid(item, schema["properties"][name], f"{at}.{name}")


def test_json_keeps_the_contract() -> None:
    data = json.loads(render_json(report()))
    valid(data, SCHEMA)
    assert data["findings"][0]["start_ns"] == "1700000000000000001"
    assert data["schema"] == 1


def test_json_says_no_more_than_the_contract() -> None:
    with pytest.raises(AssertionError):
        valid(json.loads(render_json(report())) | {"more": 1}, SCHEMA)


def test_json_reads_back() -> None:
    before = report()
    data = json.loads(render_json(before))
    after = [Finding.from_json(item) for item in data["findings"]]
    assert [item.fingerprint for item in after] == [item.fingerprint for item in before.findings]


def text(made: CheckReport, **facts: Any) -> str:
    out = io.StringIO()
    print_report(made, Console(file=out, width=200, color_system=None), **facts)
    return out.getvalue()


def test_text_leads_with_the_worst_and_names_place_number_and_limit() -> None:
    told = text(report())
    assert told.index("TIM004") < told.index("SYN004") < told.index("VID001") < told.index("ZZZ001")
    assert "episode 0  /camera  1.250 to 1.550 s  row 12  300.5 ms (limit 50)  confidence 0.90" in told
    assert "silent for 0 ms [not markup]" in told
    assert told.count("fix: cut it here") == 1
    assert (
        "a.mcap: 7 errors, 0 warnings, 1 for information; 1 rule did not run everywhere; 1 rule CRASHED" in told
    )


def test_text_folds_many_places() -> None:
    assert "and 2 places more; in all in 7 episodes" in text(report())
    assert "silent for 6 ms" not in text(report())
    assert "silent for 6 ms" in text(report(), listed=None)


def test_text_of_a_finding_of_the_whole_recording() -> None:
    finding = Finding("STR001", "empty", Severity.ERROR, "nothing is in it", where=Where(file="b.bag", byte=9))
    told = text(CheckReport("b.bag", findings=(finding,)))
    assert "byte 9" in told
    assert "1 error" in told
