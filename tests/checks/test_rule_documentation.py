from __future__ import annotations

import re
from pathlib import Path

import pytest

from twinloop.checks.catalog import built_in_rules
from twinloop.checks.docs import pages, write_pages
from twinloop.checks.rule import HEADINGS, Rule, limit_names

FOLDER = Path(__file__).parents[2] / "docs" / "rules"


@pytest.mark.parametrize("rule", built_in_rules(), ids=lambda rule: rule.code)
def test_a_rule_is_documented(rule: Rule) -> None:
    documentation = rule.documentation
    assert documentation.summary.endswith(".")
    assert tuple(documentation.sections) == HEADINGS
    assert rule.code in documentation.sections["Example"]
    for name in limit_names(rule.limits):
        assert f"`{name}`" in documentation.sections["Tuning"], f"{name} is not documented"
    codes = {item.code for item in built_in_rules()}
    for section in documentation.sections.values():
        assert set(re.findall(r"\b(?:STR|TIM|SYN|SIG|VID|LAB|EPI)\d{3}\b", section)) <= codes


@pytest.mark.parametrize("rule", built_in_rules(), ids=lambda rule: rule.code)
def test_the_default_in_the_tuning_section_is_the_default(rule: Rule) -> None:
    tuning = " ".join(rule.documentation.sections["Tuning"].split())
    for name, value in limit_names(rule.limits).items():
        [told] = re.findall(rf"`{name}`[^()]*\((?:default )?([0-9.e+-]+)", tuning)
        assert float(told) == float(value), name


def test_the_pages_are_up_to_date() -> None:
    made = pages()
    stale = [name for name, text in made.items() if _read(FOLDER / name) != text]
    assert not stale, "run: python -m twinloop.checks.docs docs/rules"
    assert {path.name for path in FOLDER.glob("*.md")} == set(made)


def test_writing_takes_away_old_pages(tmp_path: Path) -> None:
    (tmp_path / "OLD001.md").write_text("gone")
    assert write_pages(tmp_path) == len(built_in_rules()) + 1
    assert not (tmp_path / "OLD001.md").exists()


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None
