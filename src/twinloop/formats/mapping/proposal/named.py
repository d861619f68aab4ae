"""Streams that are features by their names already, as in a LeRobot dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.kinds import PAYLOAD_KINDS, TIME_COLUMNS, Kind, Role
from twinloop.core.mapping import Feature, Representation
from twinloop.core.units import UNDECLARED
from twinloop.formats.mapping.proposal.words import commands
from twinloop.formats.mapping.ragged import is_list, is_number
from twinloop.formats.mapping.sample import first_batches

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

_OBSERVATION, _ACTION = "observation.", "action"
_WHY = "its name is LeRobot's"


def propose_named(recording: Recording) -> tuple[list[Feature], dict[str, str]]:
    """Features of the names ``observation.*`` and ``action*``, and why others of such names are left out."""
    features: list[Feature] = []
    left_out: dict[str, str] = {}
    for stream in recording.streams.values():
        if not has_feature_name(stream):
            continue
        if stream.kind in (Kind.IMAGE, Kind.DEPTH):
            features.append(Feature(stream.name, stream.name, Role.OBSERVATION, why=_WHY))
        elif stream.kind in PAYLOAD_KINDS or (field := _field(recording, stream)) is None:
            left_out[stream.name] = "it has no one column of numbers"
        else:
            features.append(_numbers(stream, field))
    return features, left_out


def has_feature_name(stream: Stream) -> bool:
    """Whether a stream is named as LeRobot names features."""
    return stream.name.startswith(_OBSERVATION) or stream.name.split(".")[0] == _ACTION


def _numbers(stream: Stream, field: str) -> Feature:
    unit = stream.units.get(field, UNDECLARED)
    named = stream.attributes.get("names", "")
    names = tuple(name.strip() for name in named.split(",")) if named and stream.kind is Kind.JOINTS else ()
    if not commands(stream.name):
        return Feature(stream.name, stream.name, Role.OBSERVATION, field, names, unit, why=_WHY)
    return Feature(
        stream.name,
        stream.name,
        Role.ACTION,
        field,
        names,
        unit,
        space="joint" if stream.kind is Kind.JOINTS else None,
        representation=Representation.ABSOLUTE if stream.kind is Kind.JOINTS else None,
        applied=False,
        why=_WHY,
    )


def _field(recording: Recording, stream: Stream) -> str | None:
    """The one column of numbers, or ``position`` where the kind has it."""
    batches = first_batches(recording, stream.name, 1.0)
    if not batches:
        return None
    numeric = [
        column.name
        for column in batches[0].schema
        if column.name not in TIME_COLUMNS
        and is_number(column.type.value_type if is_list(column.type) else column.type)
    ]
    if "position" in numeric:
        return "position"
    return numeric[0] if len(numeric) == 1 else None
