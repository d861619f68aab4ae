from __future__ import annotations

from pathlib import Path

import pytest

from twinloop.checks.catalog import all_rules, find_rule
from twinloop.checks.profile import check_profile, load_profile, profile_names
from twinloop.core.errors import UnknownNameError, UsageError
from twinloop.core.finding import Severity


@pytest.mark.parametrize("name", profile_names())
def test_profiles_that_come_along_fit_the_rules(name: str) -> None:
    profile = load_profile(name)
    assert profile.description
    check_profile(profile, all_rules())


def test_a_profile_overrides_limits_and_severity(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('extends = "strict"\n[TIM004]\nperiods = 3\n[SYN006]\nenabled = false\n')
    profile = load_profile(str(path))
    gap = profile.limits(find_rule("TIM004"))
    assert (gap.periods, gap.share, gap.long_s) == (3.0, 0.01, 0.5)
    assert not profile.enabled(find_rule("SYN006"))
    assert profile.severity(find_rule("TIM006")) is Severity.ERROR
    assert profile.severity(find_rule("TIM004")) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[TIM004]\nperiod = 3\n", "period"),
        ("[TIM004]\nperiods = true\n", "TIM004.periods"),
        ('[TIM004]\nlisted = "all"\n', "TIM004.listed"),
        ('[TIM004]\nseverity = "bad"\n', "severity"),
        ("[TIM999]\n", "TIM999"),
        ("TIM004 = 3\n", "tables"),
        ("[TIM004\n", "parse"),
        ('extends = "nothing"\n', "nothing"),
        ('extends = "mine.toml"\n', "circle"),
    ],
)
def test_what_a_profile_cannot_say(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=told):
        check_profile(load_profile(str(path)), all_rules())


def test_an_unknown_profile() -> None:
    with pytest.raises(UnknownNameError, match="strikt"):
        load_profile("strikt")
