"""What stands beside a dataset, given to its recording."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from twinloop.core.session import SessionFacts
from twinloop.formats.beside.calibration import calibration_of
from twinloop.formats.beside.features import elements_of, mapping_of
from twinloop.formats.steps.recording import StepRecording
from twinloop.formats.steps.stamps import Stamps, stamps_of
from twinloop.formats.steps.times import agreed

if TYPE_CHECKING:
    from twinloop.core.recording import EpisodeSpan, Recording
    from twinloop.formats.beside.folder import Beside

_STATED = ("task", "operator", "site", "robot", "rig", "consent")


def tell(recording: Recording, beside: Beside | None) -> None:
    """Give a recording the facts, calibration, mapping and episodes that stand beside it. What the dataset
    itself says of an episode goes first."""
    if beside is None:
        return
    recording.facts = _facts(beside)
    recording.calibration = {**calibration_of(beside), **recording.calibration}
    elements = elements_of(beside, recording.streams) if isinstance(recording, StepRecording) else {}
    if isinstance(recording, StepRecording):
        recording.elements = elements
    recording.own_mapping = recording.own_mapping or mapping_of(beside, recording.streams, elements)
    facts = recording.facts
    recording.episodes = tuple(
        _told(span, said, facts) for span, said in zip(recording.episodes, beside.episodes, strict=False)
    )
    recording.files = tuple(dict.fromkeys((*recording.files, *beside.files)))


def stamps_beside(beside: Beside) -> Stamps:
    """What the times of the rows are."""
    return agreed({stamps_of(one.get("stamp_source"), one.get("clock")) for one in beside.episodes})


def _facts(beside: Beside) -> SessionFacts:
    """What all sessions and episodes agree on; the rest stays with the episodes."""
    common: dict[str, Any] = {}
    for name in _STATED:
        values = {_text(one.get(name)) for one in beside.episodes}
        common[name] = values.pop() if len(values) == 1 else None
    stated = [said.get("facts") for said in beside.sessions]
    metas = [said.get("meta") for said in stated if isinstance(said, dict)]
    first = metas[0] if metas and all(meta == metas[0] for meta in metas) else None
    meta = {str(key): str(value) for key, value in first.items()} if isinstance(first, dict) else {}
    return SessionFacts(**common, meta=meta)


def _told(span: EpisodeSpan, said: dict[str, Any], facts: SessionFacts) -> EpisodeSpan:
    """An episode with what stands beside it; of what is stated, that which is not of all episodes."""
    stated = {name: text for name in _STATED if (text := _text(said.get(name)))}
    own = {name: text for name, text in stated.items() if getattr(facts, name) is None}
    return replace(
        span,
        instruction=span.instruction or _text(said.get("instruction")),
        outcome=span.outcome or _text(said.get("outcome")),
        attributes={**_attributes(said.get("attributes")), **own, **span.attributes},
    )


def _attributes(text: object) -> dict[str, str]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
