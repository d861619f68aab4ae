"""Streams that are features by their names already, as in a LeRobot dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Representation
from twinloop.core.units import UNDECLARED
from twinloop.formats.mapping.elements import DEFAULT_FIELDS, NO_MATRIX
from twinloop.formats.mapping.sample import first_names

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
        elif stream.kind not in NO_MATRIX and (names := first_names(recording, stream, _field(stream))):
            features.append(_numbers(stream, names))
        else:
            left_out[stream.name] = "it has no numbers to make a feature of"
    return features, left_out


def has_feature_name(stream: Stream) -> bool:
    """Whether a stream is named as LeRobot names features."""
    return stream.name.startswith(_OBSERVATION) or stream.name.split(".")[0] == _ACTION


def _numbers(stream: Stream, names: tuple[str, ...]) -> Feature:
    field = _field(stream)
    unit = stream.units.get(field or "", UNDECLARED)
    if stream.name.startswith(_OBSERVATION):
        return Feature(stream.name, stream.name, stream.role or Role.OBSERVATION, field, names, unit, why=_WHY)
    joints = stream.kind is Kind.JOINTS
    return Feature(
        stream.name,
        stream.name,
        stream.role or Role.ACTION,
        field,
        names,
        unit,
        space="joint" if joints else None,
        representation=Representation.ABSOLUTE if joints else None,
        applied=False,
        why=_WHY,
    )


def _field(stream: Stream) -> str | None:
    """The one column that the kind's numbers are in; None: they are in several."""
    fields = DEFAULT_FIELDS.get(stream.kind, ())
    return fields[0] if len(fields) == 1 else None
