from __future__ import annotations

from collections.abc import Iterator

import clean_recordings as clean
import made_up_rules
import pytest

from twinloop.checks.catalog import RULES, all_rules, built_in_rules, choose_rules, find_rule
from twinloop.checks.profile import Profile
from twinloop.checks.rule import Broken, NoLimits, RuleError, Scope, rule
from twinloop.checks.run import check
from twinloop.core.errors import MappingError, UnknownNameError
from twinloop.core.finding import CheckReport, Finding, Severity
from twinloop.core.mapping import Cut, EpisodeCut, Feature, Mapping
from twinloop.core.recording import EpisodeSpan
from twinloop.core.session import Episode

SECOND = 1_000_000_000
EPISODES = [
    EpisodeSpan(index, clean.EPOCH_NS + 5 * index * SECOND, clean.EPOCH_NS + (5 * index + 4) * SECOND)
    for index in range(3)
]


@pytest.fixture
def plugins() -> Iterator[None]:
    for item in made_up_rules.ALL:
        RULES.register(item.code)(item)
    yield
    for item in made_up_rules.ALL:
        RULES.unregister(item.code)


def run(*codes: str, episodes: object = None, **facts: object) -> CheckReport:
    recording = clean.recording(clean.streams(), episodes=EPISODES)
    mapping = Mapping(clean.MAPPING.features, EpisodeCut(Cut.MARKED))
    return check(recording, mapping=mapping, select=codes, episodes=episodes, **facts)  # type: ignore[arg-type]


def of_stream(report: CheckReport, stream: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.stream == stream]


@pytest.mark.usefixtures("plugins")
class TestRunning:
    def test_findings_know_their_episode_clock_and_seconds(self) -> None:
        found = of_stream(run("ZZZ001"), "/follower")
        assert [finding.episode for finding in found] == [0, 1, 2]
        assert found[1].code == "ZZZ001"
        assert found[1].name == "tells_all"
        assert found[1].severity is Severity.INFO
        assert found[1].clock == "unix"
        assert found[1].start_s == pytest.approx(0, abs=0.02)
        assert found[1].end_s == pytest.approx(4, abs=0.02)
        assert found[1].start_ns == pytest.approx(EPISODES[1].start_ns, abs=2e7)

    def test_numbers_that_json_cannot_hold_are_left_out(self) -> None:
        finding = run("ZZZ001").findings[0]
        assert finding.value is None
        assert finding.confidence == 1.0

    def test_a_crash_stops_nobody_else(self) -> None:
        report = run("ZZZ001", "ZZZ002", "ZZZ003", "ZZZ007")
        assert [note.code for note in report.failed] == ["ZZZ002", "ZZZ003", "ZZZ007"]
        assert report.failed[0].why == "the rule crashed in episode 0: ZeroDivisionError: by zero"
        assert report.failed[1].why == "the rule crashed: this cannot be"
        assert "KeyError" in report.failed[2].why
        assert {finding.code for finding in report.findings} == {"ZZZ001", "ZZZ002"}

    def test_missing_inputs_are_no_pass(self) -> None:
        [note] = run("ZZZ004").not_run
        assert note.code == "ZZZ004"
        assert note.why == "no image stream points into video files"

    def test_a_rule_may_say_that_it_cannot_tell(self) -> None:
        dark, empty = run("ZZZ005").not_run
        assert dark.why == "/camera: it is too dark"
        assert empty.why == "the battery is empty (in 1 of 3 episodes: 2)"

    def test_set_rules_see_what_was_kept_of_each_episode(self) -> None:
        report = run("ZZZ006")
        assert [(finding.episode, finding.value) for finding in report.findings] == [(0, 4.0), (2, 4.0)]

    def test_limits_and_severity_come_from_the_profile(self) -> None:
        profile = Profile("mine", overrides={"ZZZ001": {"most": 7, "severity": "error"}})
        finding = run("ZZZ001", profile=profile).findings[0]
        assert (finding.limit, finding.severity) == (7.0, Severity.ERROR)
        off = Profile("mine", overrides={"ZZZ001": {"enabled": False}})
        assert run("ZZZ001", profile=off).findings == ()

    def test_given_episodes_go_before_marked_ones(self) -> None:
        given = [Episode("01", 7, clean.EPOCH_NS + 3 * SECOND, clean.EPOCH_NS + 5 * SECOND)]
        report = run("ZZZ001", episodes=given)
        assert {finding.episode for finding in report.findings} == {7}

    def test_findings_are_sorted_the_worst_first(self) -> None:
        profile = Profile("mine", overrides={"ZZZ006": {"severity": "error"}})
        report = run("ZZZ001", "ZZZ006", profile=profile)
        assert [finding.code for finding in report.findings][:2] == ["ZZZ006", "ZZZ006"]

    def test_a_recording_without_episodes_is_one(self) -> None:
        report = check(clean.recording(clean.streams()), mapping=Mapping(), episodes=[], select=["ZZZ001"])
        assert {finding.episode for finding in report.findings} == {None}
        assert report.findings[0].start_s == pytest.approx(0, abs=0.01)

    def test_two_rules_of_one_code_are_a_mistake(self) -> None:
        RULES.register("again")(made_up_rules.tells_all)
        try:
            with pytest.raises(RuleError, match="two rules have the code ZZZ001"):
                all_rules()
        finally:
            RULES.unregister("again")


def test_a_mapping_that_someone_wrote_must_fit() -> None:
    wrong = Mapping((), EpisodeCut(Cut.TOPIC, stream="/nothing", start="a", stop="b"))
    with pytest.raises(MappingError):
        check(clean.recording(clean.streams()), mapping=wrong)


def test_a_feature_that_does_not_fit_is_told_and_the_others_are_read() -> None:
    features = (
        *clean.MAPPING.features,
        Feature("observation.state.extra", "/imu", clean.MAPPING.features[1].role, field="nothing"),
    )
    report = check(clean.recording(clean.streams()), mapping=Mapping(features))
    assert any("nothing" in note.why for note in report.not_run if note.code == "SIG002")
    assert any(finding.code == "SYN004" for finding in report.findings)


def test_rules_are_chosen_by_code_name_and_family() -> None:
    assert [item.code for item in choose_rules(["TIM004", "jitter"])] == ["TIM004", "TIM006"]
    families = {item.family for item in choose_rules(["syn", "SIG"])}
    assert families == {"SYN", "SIG"}
    assert "TIM004" not in {item.code for item in choose_rules(None, ["gap"])}
    with pytest.raises(UnknownNameError, match="TIM999") as failed:
        choose_rules(["TIM999"])
    assert failed.value.near


def test_finding_a_rule() -> None:
    assert find_rule("tim004").name == find_rule("gap").name == "gap"
    with pytest.raises(UnknownNameError):
        find_rule("gapp")


def test_built_ins_are_found_by_walking() -> None:
    codes = [item.code for item in built_in_rules()]
    assert codes == sorted(set(codes))
    assert len(codes) > 30
    assert len({item.name for item in built_in_rules()}) == len(codes)


def test_mistakes_of_authors_are_told() -> None:
    with pytest.raises(RuleError, match="no rule code"):
        rule(code="tim4", name="x", severity=Severity.INFO, scope=Scope.EPISODE, since="0.1")
    with pytest.raises(RuleError, match="summarise"):
        rule(code="ZZZ010", name="x", severity=Severity.INFO, scope=Scope.SET, since="0.1")
    with pytest.raises(RuleError, match="limits"):

        @rule(code="ZZZ011", name="x", severity=Severity.INFO, scope=Scope.EPISODE, since="0.1")
        def no_limits(subject: object) -> Iterator[Broken]:
            yield Broken("")

    undocumented = rule(code="ZZZ012", name="x", severity=Severity.INFO, scope=Scope.EPISODE, since="0.1")(
        _undocumented
    )
    with pytest.raises(RuleError, match="headings"):
        _ = undocumented.documentation


def _undocumented(subject: object, limits: NoLimits) -> Iterator[Broken]:
    """Says nothing.

    ## Example
    """
    yield Broken("")
