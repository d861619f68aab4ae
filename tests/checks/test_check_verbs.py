from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinloop.checks.catalog import built_in_rules
from twinloop.cli.main import app

HEADER = "time (s),shoulder (rad),elbow (rad)\n"


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table at 100 Hz with thirty rows missing at 5 s."""
    path = tmp_path / "arm.csv"
    rows = [f"{k / 100:.2f},{k % 7 / 10},{k % 11 / 10}\n" for k in range(1000) if not 500 <= k < 530]
    path.write_text(HEADER + "".join(rows))
    return path


def test_check_names_the_fault_and_what_to_do_next(table: Path) -> None:
    code, out, _ = run("check", str(table), "--select", "TIM004")
    assert code == 0
    assert re.search(r"warning TIM004 gap", out)
    assert "4.990 to 5.300 s" in out
    assert "30 samples missing" in out
    assert out.rstrip().endswith("next: twinloop explain TIM004")


def test_check_fails_on_what_it_is_told_to(table: Path) -> None:
    assert run("check", str(table), "--select", "TIM", "--fail-on", "warning")[0] == 1
    assert run("check", str(table), "--select", "TIM", "--fail-on", "error")[0] == 0
    assert run("check", str(table), "--select", "TIM", "--profile", "strict")[0] == 1
    assert run("check", str(table), "--select", "TIM", "--profile", "strict", "--fail-on", "never")[0] == 0
    assert (
        run("check", str(table), "--ignore", "TIM004,TIM006", "--fail-on", "warning", "--select", "TIM")[0] == 0
    )


def test_check_as_json(table: Path) -> None:
    code, out, err = run("check", str(table), "--json", "--select", "TIM004")
    data = json.loads(out)
    assert code == 0
    assert data["schema"] == 1
    assert data["findings"][0]["code"] == "TIM004"
    assert data["findings"][0]["value"] == pytest.approx(310)
    assert "next: twinloop" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--format", "xml"], "xml"),
        (["--fail-on", "bad"], "bad"),
        (["--select", "TIM999"], "TIM999"),
        (["--profile", "nothing"], "nothing"),
        (["--mapping", "nowhere.toml"], "mapping"),
    ],
)
def test_what_cannot_be_meant(table: Path, words: list[str], told: str) -> None:
    from twinloop.core.errors import TwinloopError

    with pytest.raises(TwinloopError, match=told) as failed:
        run("check", str(table), *words)
    assert failed.value.exit_code == 2


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    from twinloop.core.errors import TwinloopError

    with pytest.raises(TwinloopError) as failed:
        run("check", str(tmp_path / "nothing.mcap"))
    assert failed.value.exit_code == 3


def test_rules_are_listed() -> None:
    code, out, _ = run("rules")
    assert code == 0
    assert all(rule.code in out for rule in built_in_rules())
    code, out, err = run("rules", "--json")
    assert [item["code"] for item in json.loads(out)["rules"]] == [rule.code for rule in built_in_rules()]
    assert "next:" in err


def test_explain_tells_the_whole_story() -> None:
    code, out, _ = run("explain", "gap")
    assert code == 0
    for word in ("TIM004", "Why it matters", "periods = 1.5", "next: twinloop check PATH --select TIM004"):
        assert word in out
    from twinloop.core.errors import UnknownNameError

    with pytest.raises(UnknownNameError):
        run("explain", "TIM400")


def test_a_rule_that_crashes_is_told_and_ends_with_4(table: Path) -> None:
    import made_up_rules

    from twinloop.checks.catalog import RULES

    RULES.register("ZZZ002")(made_up_rules.crashes)
    try:
        code, out, _ = run("check", str(table), "--select", "TIM004,ZZZ002")
    finally:
        RULES.unregister("ZZZ002")
    assert code == 4
    assert "CRASHED: ZZZ002: the rule crashed in episode 0: ZeroDivisionError: by zero" in out
    assert "TIM004 gap" in out
