"""What the streams of a dataset mean, by what stands beside it: features, their units and elements."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from twinloop.core.kinds import TIME_COLUMNS, Kind, Role
from twinloop.core.mapping import Cut, EpisodeCut, Feature, Representation
from twinloop.core.mapping import Mapping as FeatureMapping
from twinloop.core.units import UNDECLARED
from twinloop.formats.mapping.elements import DEFAULT_FIELDS, NO_MATRIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twinloop.core.stream import Stream
    from twinloop.formats.beside.folder import Beside

    #: Stream -> the names of its elements.
    Elements = Mapping[str, tuple[str, ...]]

_OBSERVATION, _ACTION = "observation.", "action"
#: What ALOHA calls joint states, by the field that they were.
_JOINTS = {
    "position": "observation.state",
    "velocity": "observation.velocity",
    "effort": "observation.effort",
}
_WHY = "as it was exported"


def mapping_of(beside: Beside, streams: Mapping[str, Stream], elements: Elements) -> FeatureMapping | None:
    """The mapping of an export, on the streams that its features are now; None where one is not found."""
    features: list[Feature] = []
    at: Counter[str] = Counter()
    for name, said in beside.features.items():
        stream = _stream_of(name, said, streams)
        if stream is None:
            return None
        width = len(_names(said))
        first, at[stream.name] = at[stream.name], at[stream.name] + width
        names: tuple[str, ...] = ()
        if stream.name in elements or _shares(name, beside):
            known = elements.get(stream.name) or tuple(f"dim_{k}" for k in range(first + width))
            names = known[first : first + width]
        features.append(_feature(name, said, stream, names))
    cut = EpisodeCut(Cut.MARKED, why="as the dataset has them")
    return FeatureMapping(tuple(features), cut) if features else None


def elements_of(beside: Beside, streams: Mapping[str, Stream]) -> Elements:
    """The names of the elements of streams whose source has none for them, where they tell them apart."""
    found: dict[str, tuple[str, ...]] = {}
    for name, said in beside.features.items():
        stream = _stream_of(name, said, streams)
        if stream is not None and stream.kind in (Kind.TABLE, Kind.JOINTS):
            found[stream.name] = (*found.get(stream.name, ()), *_names(said))
    return {
        name: names
        for name, names in found.items()
        if len(set(names)) == len(names) == _width(streams[name]) and not set(names) & set(TIME_COLUMNS)
    }


def _width(stream: Stream) -> int:
    """Elements of a sample, as the type's name tells them: ``float32[7]``."""
    sizes = re.findall(r"\d+", stream.type_name.rpartition("[")[2])
    return math.prod(map(int, sizes))


def _shares(name: str, beside: Beside) -> bool:
    """Whether a feature is one of several actions, which formats keep side by side as one."""
    actions = [each for each, said in beside.features.items() if _is_action(each, said)]
    return name in actions and len(actions) > 1


def _feature(name: str, said: dict[str, Any], stream: Stream, names: tuple[str, ...]) -> Feature:
    numbers = stream.kind not in NO_MATRIX
    applied = said.get("applied")
    return Feature(
        name,
        stream.name,
        _one_of(Role, said.get("role")) or Role.OBSERVATION,
        _field(stream) if numbers else None,
        names,
        unit if isinstance(unit := said.get("unit"), str) and unit else UNDECLARED,
        space=space if isinstance(space := said.get("space"), str) else None,
        representation=_one_of(Representation, said.get("representation")),
        applied=applied if isinstance(applied, bool) else None,
        why=_WHY,
    )


def _stream_of(name: str, said: dict[str, Any], streams: Mapping[str, Stream]) -> Stream | None:
    """The stream of a feature: of its name, or as formats call it, without dots or by a part in learning."""
    bare = name.removeprefix("observation.images.").removeprefix(_OBSERVATION)
    bare = re.sub(r"[^A-Za-z0-9_-]+", "_", bare).strip("_")
    likely = [name, f"{_OBSERVATION}{bare}", bare, name.replace(".", "_")]
    if said.get("kind") in (Kind.IMAGE, Kind.DEPTH):
        likely = [name, f"{_OBSERVATION}images.{bare}", f"{_OBSERVATION}images.{bare}_image"]
    elif _is_action(name, said):
        likely = [name, _ACTION]
    elif field := _JOINTS.get(str(said.get("field"))):
        likely.append(field)
    return next((stream for each in likely if (stream := streams.get(each))), None)


def _is_action(name: str, said: dict[str, Any]) -> bool:
    """As exports tell actions from the rest."""
    if said.get("kind") in (Kind.IMAGE, Kind.DEPTH) or name.startswith(_OBSERVATION):
        return False
    if said.get("role") == Role.OBSERVATION:
        return False
    return name.split(".")[0] == _ACTION or said.get("role") == Role.ACTION


def _names(said: dict[str, Any]) -> list[str]:
    names = said.get("names")
    return [str(name) for name in names] if isinstance(names, list) else []


def _field(stream: Stream) -> str | None:
    """The one column that the kind's numbers are in; None: they are in several."""
    fields = DEFAULT_FIELDS.get(stream.kind, ())
    return fields[0] if len(fields) == 1 else None


def _one_of(words: Any, value: object) -> Any:
    return next((word for word in words if word == value), None)
