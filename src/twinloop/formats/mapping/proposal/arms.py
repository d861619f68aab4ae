"""Which joint streams are state, action and leader, arm by arm, and the order of their joints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from twinloop.core.errors import MappingError
from twinloop.core.kinds import TIME_COLUMNS, Kind, Role
from twinloop.core.mapping import Feature, Representation
from twinloop.core.units import UNDECLARED
from twinloop.formats.mapping.elements import picker
from twinloop.formats.mapping.feature import FeatureSamples, read_features
from twinloop.formats.mapping.proposal import words
from twinloop.formats.mapping.proposal.lead import Lead, measure_lead
from twinloop.formats.mapping.proposal.publishers import of_every_publisher
from twinloop.formats.mapping.ragged import is_list, is_number, number_rows
from twinloop.formats.mapping.sample import first_batches

if TYPE_CHECKING:
    import pyarrow as pa

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

#: Seconds of motion that are compared.
SAMPLE_S = 20.0
#: A lead shorter than this, or motion less alike, tells nothing.
_SURE_S, _ALIKE = 0.015, 0.6
_FIELDS = ("position", "velocity", "effort")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stream whose samples are one number a joint. `names` is empty where it names no joints."""

    stream: Stream
    field: str
    names: tuple[str, ...]
    width: int

    @property
    def topic(self) -> str:
        return self.stream.name

    def feature(self, name: str, role: Role, names: tuple[str, ...], why: str) -> Feature:
        unit = self.stream.units.get(self.field, UNDECLARED)
        is_action = role in (Role.ACTION, Role.LEADER)
        return Feature(
            name,
            self.topic,
            role,
            self.field,
            names,
            unit,
            space={"position": "joint", "velocity": "joint_velocity", "effort": "joint_effort"}.get(
                self.field, "joint"
            )
            if is_action
            else None,
            representation=Representation.ABSOLUTE if is_action else None,
            applied=False if is_action else None,
            why=why,
        )


def propose_arms(recording: Recording) -> tuple[list[Feature], dict[str, str]]:
    """Features for every arm, and why other joint streams are left out."""
    candidates, left_out = _candidates(recording)
    arms = _arms(candidates)
    features: list[Feature] = []
    for arm in arms:
        suffix = "" if len(arms) == 1 else "." + _arm_name(arm, arms)
        chosen, others = _roles(recording, arm, suffix)
        features += chosen
        left_out |= others
    return of_every_publisher(recording, features), left_out


def _candidates(recording: Recording) -> tuple[list[Candidate], dict[str, str]]:
    found: list[Candidate] = []
    left_out: dict[str, str] = {}
    for stream in recording.streams.values():
        if stream.kind is Kind.JOINTS or (stream.kind is Kind.TABLE and words.commands(stream.name)):
            candidate = _candidate(recording, stream)
            if candidate is not None:
                found.append(candidate)
            elif stream.kind is Kind.JOINTS:
                left_out[stream.name] = "no joint values in it"
    return found, left_out


def _candidate(recording: Recording, stream: Stream) -> Candidate | None:
    batches = first_batches(recording, stream.name, 2.0)
    if not batches:
        return None
    fields = _FIELDS if stream.kind is Kind.JOINTS else _only_list(batches[0])
    for field in fields:
        if field not in batches[0].schema.names or not is_list(batches[0].schema.field(field).type):
            continue
        if not any(number_rows(batch.column(field)).length.any() for batch in batches):
            continue
        elements = picker(stream, Feature("", stream.name, Role.OBSERVATION, field))
        try:
            for batch in batches:
                elements.pick(batch)
            elements.finish()
        except MappingError:
            continue
        named = stream.kind is Kind.JOINTS and elements.names[:1] != ("0",)
        return Candidate(stream, field, elements.names if named else (), len(elements.names))
    return None


def _only_list(batch: pa.RecordBatch) -> tuple[str, ...]:
    """The one column of lists of numbers, as in an array of commands."""
    lists = [
        column.name
        for column in batch.schema
        if column.name not in TIME_COLUMNS
        and not column.name.startswith("layout")
        and is_list(column.type)
        and is_number(column.type.value_type)
    ]
    return (lists[0],) if len(lists) == 1 else ()


def _arms(candidates: list[Candidate]) -> list[list[Candidate]]:
    """Candidates of the same arm together."""
    arms: list[list[Candidate]] = []
    for candidate in candidates:
        home = next((arm for arm in arms if any(_same_arm(candidate, other) for other in arm)), None)
        if home is None:
            arms.append([candidate])
        else:
            home.append(candidate)
    return arms


def _same_arm(a: Candidate, b: Candidate) -> bool:
    of_a, of_b = words.subject(a.topic), words.subject(b.topic)
    sides_a, sides_b = of_a & words.SIDES, of_b & words.SIDES
    if sides_a != sides_b:
        return False
    if a.names and b.names:
        common = len(set(a.names) & set(b.names))
        return 2 * common >= min(len(a.names), len(b.names)) or (of_a == of_b and a.width == b.width)
    return a.width == b.width


def _arm_name(arm: list[Candidate], arms: list[list[Candidate]]) -> str:
    """What tells this arm's topics from the other arms'."""
    own = words.subject(arm[0].topic)
    shared = frozenset.intersection(*(words.subject(other[0].topic) for other in arms))
    parts = [word for word in words.words(arm[0].topic) if word in own - shared]
    return words.slug(parts) or str(arms.index(arm))


def _roles(recording: Recording, arm: list[Candidate], suffix: str) -> tuple[list[Feature], dict[str, str]]:
    """State, action and leader among the streams of one arm."""
    if len(arm) == 1:
        return [_alone(arm[0], suffix)], {}
    leads = _leads(recording, arm)
    state = _pick_state(arm, leads)
    rest = [candidate for candidate in arm if candidate is not state]
    names = state.names
    features = [
        state.feature(f"observation.state{suffix}", Role.OBSERVATION, names, _why_state(state, rest, leads))
    ]
    commanding = [c for c in rest if not _repeats(c, state, leads)]
    left_out = {c.topic: f"repeats {state.topic}" for c in rest if c not in commanding}
    commanding.sort(key=lambda c: (words.leads(c.topic), _lead_over(c, state, leads)))
    for position, candidate in enumerate(commanding):
        own = names if set(candidate.names) == set(names) else candidate.names
        why = _why_command(candidate, state, leads)
        if position == 0:
            features.append(candidate.feature(f"action{suffix}", Role.ACTION, own, why))
        elif words.leads(candidate.topic):
            features.append(candidate.feature(f"leader{suffix}", Role.LEADER, own, why))
        else:
            left_out[candidate.topic] = f"a second command; {commanding[0].topic} is nearer to the state"
    return features, left_out


def _alone(candidate: Candidate, suffix: str) -> Feature:
    if words.commands(candidate.topic):
        why = "its name speaks of commands; there is no state of these joints"
        return candidate.feature(f"action{suffix}", Role.ACTION, candidate.names, why)
    why = "the only stream of these joints; there is no command that could be the action"
    return candidate.feature(f"observation.state{suffix}", Role.OBSERVATION, candidate.names, why)


_Leads = dict[tuple[str, str], Lead]


def _leads(recording: Recording, arm: list[Candidate]) -> _Leads:
    """How each stream of an arm moves before each other: (first, second) -> Lead, both ways round.

    Empty where joints are not there in the seconds that are looked at.
    """
    leads: _Leads = {}
    try:
        samples = _moving_samples(recording, arm)
    except MappingError:
        return leads
    for i, a in enumerate(arm):
        for b in arm[i + 1 :]:
            pair = _common(a, b, samples)
            lead = measure_lead(*pair) if pair else None
            if lead is not None:
                leads[a.topic, b.topic] = lead
                leads[b.topic, a.topic] = replace(lead, seconds=-lead.seconds)
    return leads


def _moving_samples(recording: Recording, arm: list[Candidate]) -> dict[str, FeatureSamples]:
    """Some seconds of all streams of an arm: from the beginning, or from the middle if nothing moves there."""
    features = [c.feature(c.topic, Role.OBSERVATION, c.names, "") for c in arm]
    starts = [c.stream.start_ns for c in arm if c.stream.start_ns is not None]
    ends = [c.stream.end_ns for c in arm if c.stream.end_ns is not None]
    if len(starts) < len(arm) or len(ends) < len(arm):
        return read_features(recording, features)
    start, end, span = max(starts), min(ends), round(SAMPLE_S * 1e9)
    samples = read_features(recording, features, start, start + span)
    if end - start > 2 * span and not any(_moves(s) for s in samples.values()):
        middle = start + (end - start - span) // 2
        samples = read_features(recording, features, middle, middle + span)
    return samples


def _moves(samples: FeatureSamples) -> bool:
    lead = measure_lead(samples, samples)
    return lead is not None


def _common(
    a: Candidate, b: Candidate, samples: dict[str, FeatureSamples]
) -> tuple[FeatureSamples, FeatureSamples] | None:
    """The samples of two streams with the same elements side by side."""
    first, second = samples[a.topic], samples[b.topic]
    names = [name for name in first.names if name in second.names] if a.names and b.names else []
    if names:
        return _chosen(first, names), _chosen(second, names)
    return (first, second) if len(first.names) == len(second.names) else None


def _chosen(samples: FeatureSamples, names: list[str]) -> FeatureSamples:
    columns = [samples.names.index(name) for name in names]
    return FeatureSamples(samples.times_ns, samples.values[:, columns], tuple(names))


def _pick_state(arm: list[Candidate], leads: _Leads) -> Candidate:
    """The stream that follows: by its name where names differ, else the last to move."""
    named = [c for c in arm if words.follows(c.topic)] or [c for c in arm if not words.commands(c.topic)]
    return max(named or arm, key=lambda c: _behind(c, arm, leads))


def _behind(candidate: Candidate, arm: list[Candidate], leads: _Leads) -> float:
    """By how much the others move before this one, in sum."""
    return sum(_lead_over(other, candidate, leads) for other in arm if other is not candidate)


def _lead_over(first: Candidate, second: Candidate, leads: _Leads) -> float:
    lead = leads.get((first.topic, second.topic))
    return lead.seconds if lead is not None and lead.likeness >= _ALIKE else 0.0


def _repeats(candidate: Candidate, state: Candidate, leads: _Leads) -> bool:
    lead = leads.get((candidate.topic, state.topic))
    return (
        lead is not None
        and lead.likeness > 0.95
        and abs(lead.seconds) < _SURE_S
        and not words.commands(candidate.topic)
    )


def _why_state(state: Candidate, rest: list[Candidate], leads: _Leads) -> str:
    reasons = ["its name speaks of the robot's state"] if words.follows(state.topic) else []
    followed = [(c, _lead_over(c, state, leads)) for c in rest]
    reasons += [f"it follows {c.topic} by {lead * 1e3:.0f} ms" for c, lead in followed if lead >= _SURE_S]
    return "; ".join(reasons) or "the others of these joints are commands by their names"


def _why_command(candidate: Candidate, state: Candidate, leads: _Leads) -> str:
    reasons = []
    if words.leads(candidate.topic):
        reasons.append("its name speaks of the leader")
    elif words.commands(candidate.topic):
        reasons.append("its name speaks of commands")
    lead = leads.get((candidate.topic, state.topic))
    if lead is None:
        reasons.append("its motion could not be compared with the state's")
    elif lead.likeness < _ALIKE:
        reasons.append(f"but it moves unlike {state.topic} (likeness {lead.likeness:.2f}): look at it")
    elif lead.seconds > -_SURE_S:
        reasons.append(
            f"its motion leads {state.topic} by {lead.seconds * 1e3:.0f} ms (likeness {lead.likeness:.2f})"
        )
    else:
        reasons.append(f"but its motion comes {-lead.seconds * 1e3:.0f} ms after {state.topic}: look at it")
    return "; ".join(reasons)
