"""Which streams the features of a dataset become."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.kinds import PAYLOAD_KINDS, Kind
from twinloop.core.recording import Problem
from twinloop.formats.rlds.episodes import METADATA, is_fact, is_time
from twinloop.formats.rlds.values import keys_of, kind_of
from twinloop.formats.steps.grid import StepGrid, likely_rate
from twinloop.formats.steps.names import distinct, role_of, stream_name
from twinloop.formats.steps.stamps import stamps_of
from twinloop.formats.steps.times import StepTimes, agreed, timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.core.stream import Stream
    from twinloop.formats.notes import Notes
    from twinloop.formats.rlds.episodes import Episode
    from twinloop.formats.rlds.features import Leaf

#: What RLDS says of a step beside what was sensed and done; one table together.
BOOKKEEPING = ("is_first", "is_last", "is_terminal", "reward", "discount")
STEP_TABLE = "steps"

_RATE = re.compile(r"(^|[/_])(control_(frequency|freq|hz|rate)|frequency_hz|rate_hz|fps)$")


def rate_of(episodes: Sequence[Episode]) -> float | None:
    """The control rate that all episodes declare in their own values; None where one does not."""
    rates = set()
    for episode in episodes:
        said = [value for key, value in episode.facts.items() if _RATE.search(key)]
        rates.add(likely_rate(said[0]) if said else None)
    return rates.pop() if len(rates) == 1 else None


def steps_of(leaves: Sequence[Leaf], episodes: Sequence[Episode], path: Path, notes: Notes) -> StepGrid:
    """The times of all steps: as a feature of them tells, else a grid."""
    grid = StepGrid(np.array([episode.steps for episode in episodes], np.int64), rate_of(episodes))
    told = next((leaf.key for leaf in leaves if is_time(leaf)), None)
    if told is None:
        return grid
    said = {
        stamps_of(one.facts.get(f"{METADATA}/stamp_source"), one.facts.get(f"{METADATA}/clock"))
        for one in episodes
    }
    where = Where(file=str(path), stream=told)
    return timed(grid, [one.times_ns for one in episodes], agreed(said), told, notes, where)


def streams_of(
    leaves: Sequence[Leaf], episodes: Sequence[Episode], grid: StepGrid, path: Path, notes: Notes
) -> tuple[dict[str, Stream], dict[str, tuple[Leaf, ...]]]:
    """Streams by name, and the features that each is made of."""
    streams: dict[str, Stream] = {}
    made_of: dict[str, tuple[Leaf, ...]] = {}
    known = [leaf for leaf in leaves if not (isinstance(grid, StepTimes) and leaf.key == grid.told)]
    for name, parts in _grouped(known):
        first = parts[0]
        kind = Kind.TABLE if name == STEP_TABLE else kind_of(first)
        if kind is None:
            notes.add(
                Problem.SCHEMA,
                f"feature {first.key} of type {first.dtype or first.form} is not read",
                Where(file=str(path)),
            )
            continue
        here = _having(parts, episodes)
        if not here.any():
            notes.add(
                Problem.SCHEMA,
                f"feature {first.key} is declared, but no record has it",
                Where(file=str(path), stream=name),
            )
            continue
        if not here.all():
            notes.add(
                Problem.COUNT,
                f"feature {first.key} is missing in {int((~here).sum())} of {len(episodes)} episodes",
                Where(file=str(path), stream=name),
            )
        unique = distinct(name, set(streams))
        stream = grid.stream(
            unique,
            kind,
            encoding="rlds",
            role=role_of(name) if first.per_step else None,
            type_name=f"{first.dtype}[{'x'.join('?' if s < 0 else str(s) for s in first.shape)}]",
            attributes=_attributes(parts, kind),
            samples=np.where(here, grid.lengths if first.per_step else 1, 0),
            per_step=first.per_step,
        )
        streams[unique] = replace(stream, count=None) if first.ranks and kind in PAYLOAD_KINDS else stream
        made_of[unique] = parts
    return streams, made_of


def _grouped(leaves: Sequence[Leaf]) -> Iterator[tuple[str, tuple[Leaf, ...]]]:
    kept = [leaf for leaf in leaves if leaf.per_step and leaf.path in BOOKKEEPING and leaf.size == 1]
    table = [leaf for leaf in kept if leaf.form == "number"]
    for leaf in leaves:
        if leaf not in table and not is_fact(leaf):
            yield stream_name(leaf.path, picture=leaf.form == "picture" and leaf.per_step), (leaf,)
    if table:
        yield STEP_TABLE, tuple(table)


def _having(parts: tuple[Leaf, ...], episodes: Sequence[Episode]) -> NDArray[np.bool_]:
    """Which episodes (E,) have one of the features whole."""
    wanted = [frozenset(keys_of(leaf)) for leaf in parts]
    return np.array([any(keys <= one.keys for keys in wanted) for one in episodes], bool)


def _attributes(parts: tuple[Leaf, ...], kind: Kind) -> dict[str, str]:
    first = parts[0]
    attributes = {"key": ", ".join(leaf.key for leaf in parts)}
    if len(parts) == 1 and first.description:
        attributes["description"] = first.description
    if kind in (Kind.IMAGE, Kind.DEPTH) and -1 not in first.shape[:2] and len(first.shape) >= 2:
        attributes |= {"height": str(first.shape[0]), "width": str(first.shape[1])}
    return attributes
