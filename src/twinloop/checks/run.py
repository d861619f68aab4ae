"""Running rules over a recording."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twinloop.checks.catalog import all_rules, choose_rules
from twinloop.checks.features import EpisodeFeatures
from twinloop.checks.measure.observer import Observed, Span, observe
from twinloop.checks.needs import lacks
from twinloop.checks.not_run import NotRun
from twinloop.checks.profile import Profile, check_profile, load_profile
from twinloop.checks.rule import Broken, Need, Rule, Scope
from twinloop.checks.subject import EpisodeSubject, RecordingSubject, SetSubject
from twinloop.core.errors import MappingError, TwinloopError
from twinloop.core.finding import CheckReport, Finding, RuleNote

if TYPE_CHECKING:
    from twinloop.core.clock import ClockModel
    from twinloop.core.mapping import Mapping
    from twinloop.core.recording import EpisodeSpan, Recording
    from twinloop.core.session import Episode

_NEED_FEATURES = {Need.STATE_OR_ACTION, Need.COMMAND_AND_STATE}


def check(
    recording: Recording,
    *,
    mapping: Mapping | None = None,
    episodes: Sequence[Episode] | None = None,
    session: str | None = None,
    clock_models: tuple[ClockModel, ...] = (),
    select: Collection[str] | None = None,
    ignore: Collection[str] = (),
    profile: Profile | None = None,
    observed: dict[str, Observed] | None = None,
    progress: Callable[[float], None] | None = None,
) -> CheckReport:
    """What the rules say of a recording (or of a stored session, which is one).

    The recording is read once without its bulk bytes, and the features of state and action once more where
    a rule needs them. A rule that crashes is reported as failed, and the others go on.

    Args:
        mapping: what is state and action; None: as proposed from the recording.
        episodes: None: as the mapping cuts them, else as the recording marks them, else all is one.
        select, ignore: codes, names or families of rules; None: all.
        profile: limits and severities; None: the default profile.
        observed: what an `Observer` saw with the same episodes and clock models; None: the recording is read.
        progress: called with the share of the samples that are read.

    Raises:
        UnknownNameError: `select` or the profile names no rule.
        UnreadableError: the recording cannot be read at all.
    """
    profile = profile or load_profile()
    check_profile(profile, all_rules())
    rules = [rule for rule in choose_rules(select, ignore) if profile.enabled(rule)]
    mapping, spans = _mapping_and_spans(recording, mapping, episodes)
    if observed is None:
        observed = observe(recording, spans, clock_models, progress)
    run = _Run(rules, profile, NotRun(len(spans)))
    features = EpisodeFeatures(recording, mapping, observed, clock_models, wanted=run.needs(_NEED_FEATURES))
    by_index = {episode.index: episode for episode in episodes or ()}
    for span in spans or [None]:
        samples, unread = features.of(span, spans)
        run.episode(
            EpisodeSubject(
                recording,
                observed,
                spans,
                mapping,
                span=span,
                episode=by_index.get(span.index) if span else None,
                samples=samples,
                unread=unread,
            )
        )
    run.recording(RecordingSubject(recording, observed, spans, mapping))
    return CheckReport(recording.place, session, run.findings(), run.not_run.notes(), run.failed())


def _mapping_and_spans(
    recording: Recording, mapping: Mapping | None, episodes: Sequence[Episode] | None
) -> tuple[Mapping | None, tuple[Span, ...]]:
    """The mapping, proposed if none is given, and the spans of the episodes.

    A proposal that does not work out costs its findings, not the check; a mapping that someone wrote must fit.
    """
    given = mapping is not None
    try:
        if mapping is None:
            from twinloop.formats.mapping.propose import propose

            mapping = propose(recording)
        return mapping, find_spans(recording, mapping, episodes)
    except MappingError:
        if given:
            raise
        return mapping, find_spans(recording, None, episodes)


def find_spans(
    recording: Recording, mapping: Mapping | None, episodes: Sequence[Episode] | None = None
) -> tuple[Span, ...]:
    """The spans to check: of the episodes given, else as the mapping cuts, else as the recording marks.

    Raises:
        MappingError: the mapping's cut does not fit the recording.
    """
    marked: Sequence[Episode] | Sequence[EpisodeSpan] = recording.episodes
    if episodes is not None:
        marked = episodes
    elif mapping is not None:
        from twinloop.formats.mapping.episodes import cut_episodes

        marked = cut_episodes(recording, mapping)
    return tuple(Span(episode.index, episode.start_ns, episode.end_ns) for episode in marked)


@dataclass
class _Run:
    """The rules at work: what they found, what they lacked, where they crashed."""

    rules: list[Rule]
    profile: Profile
    not_run: NotRun
    _found: list[Finding] = field(default_factory=list)
    _failed: dict[str, str] = field(default_factory=dict)
    _summaries: dict[str, list[tuple[int | None, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._limits = {rule.code: self.profile.limits(rule) for rule in self.rules}

    def needs(self, needs: Collection[Need]) -> bool:
        """Whether any rule has one of these needs."""
        return any(need in needs for rule in self.rules for need in rule.needs)

    def episode(self, subject: EpisodeSubject) -> None:
        """Episode rules, and the summaries that set rules keep."""
        for rule in self._of(Scope.EPISODE):
            if self._can(rule, subject):
                self._judge(rule, subject, subject)
        for rule in self._of(Scope.SET):
            if self._can(rule, subject):
                self._summarise(rule, subject)

    def recording(self, subject: RecordingSubject) -> None:
        """Recording rules, then set rules over the summaries."""
        for rule in self._of(Scope.RECORDING):
            if self._can(rule, subject):
                self._judge(rule, subject, subject)
        for rule in self._of(Scope.SET):
            if summaries := self._summaries.get(rule.code):
                self._judge(rule, SetSubject(subject, summaries), subject)

    def findings(self) -> tuple[Finding, ...]:
        """All findings, the worst first, then by code, episode and time."""
        return tuple(
            sorted(
                self._found,
                key=lambda f: (
                    -f.severity.rank,
                    f.code,
                    -1 if f.episode is None else f.episode,
                    f.stream or "",
                    f.start_ns or 0,
                ),
            )
        )

    def failed(self) -> tuple[RuleNote, ...]:
        """Rules that crashed, and how."""
        return tuple(RuleNote(code, why) for code, why in sorted(self._failed.items()))

    def _of(self, scope: Scope) -> Iterator[Rule]:
        return (rule for rule in self.rules if rule.scope is scope)

    def _can(self, rule: Rule, subject: RecordingSubject) -> bool:
        index = subject.index if isinstance(subject, EpisodeSubject) else None
        able = True
        for need in rule.needs:
            nothing, missing = lacks(subject, need)
            able = able and not nothing
            for lack in missing:
                self.not_run.add(rule.code, lack.why, lack.stream, index)
        return able

    def _judge(self, rule: Rule, subject: object, place: RecordingSubject) -> None:
        try:
            for said in rule.judge(subject, self._limits[rule.code]):
                if isinstance(said, Broken):
                    self._found.append(self._finding(rule, said, place))
                else:
                    index = place.index if isinstance(place, EpisodeSubject) else None
                    self.not_run.add(rule.code, said.why, said.stream, index)
        except Exception as error:  # a rule of a third party may raise anything, and must not stop the others
            self._note_crash(rule, error, place)

    def _summarise(self, rule: Rule, subject: EpisodeSubject) -> None:
        assert rule.summarise is not None
        try:
            summary = rule.summarise(subject, self._limits[rule.code])
        except Exception as error:
            self._note_crash(rule, error, subject)
            return
        if summary is not None:
            self._summaries.setdefault(rule.code, []).append((subject.index, summary))

    def _note_crash(self, rule: Rule, error: Exception, place: RecordingSubject) -> None:
        where = f" in episode {place.index}" if isinstance(place, EpisodeSubject) and place.span else ""
        what = error.what if isinstance(error, TwinloopError) else f"{type(error).__name__}: {error}"
        self._failed.setdefault(rule.code, f"the rule crashed{where}: {what}")

    def _finding(self, rule: Rule, broken: Broken, place: RecordingSubject) -> Finding:
        stream = place.streams.get(broken.clock_of or broken.stream or "")
        episode, origin = broken.episode, None if stream is None else place.origin_ns(stream)
        span = None
        if episode is not None:
            span = next((span for span in place.spans if span.index == episode), None)
        elif isinstance(place, EpisodeSubject):
            span = place.span
        elif broken.start_ns is not None and stream is not None:
            span = place.episode_at(broken.start_ns)
        if span is not None:
            episode, origin = span.index, span.start_ns
        return Finding(
            code=rule.code,
            name=rule.name,
            severity=self.profile.severity(rule) or broken.severity or rule.severity,
            message=broken.message,
            fix=broken.fix,
            episode=episode,
            stream=broken.stream,
            start_ns=None if broken.start_ns is None else int(broken.start_ns),
            end_ns=None if broken.end_ns is None else int(broken.end_ns),
            start_s=_seconds(broken.start_ns, origin),
            end_s=_seconds(broken.end_ns, origin),
            clock=place.clock(stream) if stream else "",
            where=broken.where,
            value=_number(broken.value),
            limit=_number(broken.limit),
            unit=broken.unit,
            confidence=round(min(max(float(broken.confidence), 0.0), 1.0), 3),
        )


def _seconds(time_ns: int | None, origin_ns: int | None) -> float | None:
    return None if time_ns is None or origin_ns is None else (int(time_ns) - int(origin_ns)) / 1e9


def _number(value: float | None) -> float | None:
    """As a plain float; None for what JSON cannot hold."""
    return float(value) if value is not None and math.isfinite(value) else None
