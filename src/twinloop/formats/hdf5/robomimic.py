"""robomimic and LIBERO: many demonstrations in one file.

``data`` holds a group a demonstration with ``actions``, ``states``, ``rewards``, ``dones``, ``obs/<key>`` and
``next_obs/<key>``; its attribute `env_args` is JSON with the environment's control rate. ``mask/<filter>``
lists demonstrations by name (https://robomimic.github.io/docs/datasets/overview.html). LIBERO adds
`problem_info`, JSON with the instruction, and `macros_image_convention`, which says whether pictures stand
upside down.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import Where
from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem
from twinloop.formats.hdf5.plan import Plan, PlannedEpisode, PlannedStream, sample_of
from twinloop.formats.hdf5.tree import flat_attributes
from twinloop.formats.hdf5.written import step_stamps, with_outcome
from twinloop.formats.steps.decode import Table, decoder_for
from twinloop.formats.steps.grid import likely_rate
from twinloop.formats.steps.names import distinct, role_of, stream_name

if TYPE_CHECKING:
    from twinloop.formats.hdf5.tree import Tree
    from twinloop.formats.notes import Notes

_DEMO = re.compile(r"^data/([^/]+)$")
_BOOKKEEPING = {"rewards": "reward", "dones": "done"}


def matches(tree: Tree) -> bool:
    """Whether demonstrations with actions lie in ``data``."""
    return any(re.match(r"^data/[^/]+/actions$", path) for path in tree.arrays)


def plan(tree: Tree, notes: Notes) -> Plan:
    """One episode a demonstration, in the order of their numbers."""
    about = tree.attributes("data")
    env, problem = _json(about.get("env_args")), _json(about.get("problem_info"))
    filters = _filters(tree)
    instruction = _instruction(problem)
    episodes = []
    demos = [match[1] for path in tree.groups if (match := _DEMO.match(path))]
    for name in sorted(demos, key=_number):
        said = tree.attributes(f"data/{name}")
        attributes = {"name": name, **flat_attributes(said)}
        if filters[name]:
            attributes["filters"] = ", ".join(filters[name])
        steps = _steps(tree, name, said.get("num_samples"), notes)
        own = said.get("language_instruction") or said.get("task")
        words = own if isinstance(own, str) else instruction
        episode = PlannedEpisode(f"data/{name}", words, None, attributes, steps)
        episodes.append(with_outcome(tree, episode))
    total = about.get("total")
    counted = sum(one.steps or 0 for one in episodes)
    if isinstance(total, int) and total != counted:
        notes.add(
            Problem.COUNT,
            f"the attribute total is {total}, the demonstrations have {counted} steps",
            Where(file=str(tree.path)),
            max(0, total - counted),
        )
    kwargs = env.get("env_kwargs")
    rate = likely_rate(kwargs.get("control_freq")) if isinstance(kwargs, dict) else None
    stamps = step_stamps(tree, tuple(episodes))
    masks = {f"mask/{name}": ", ".join(tree.texts(f"mask/{name}")) for name in tree.children("mask")}
    return Plan(
        "LIBERO" if problem else "robomimic",
        tuple(episodes),
        _streams(tree, tuple(episodes), about, stamps.source if stamps else ""),
        rate,
        {**flat_attributes(about, "data/"), **masks},
        stamps=stamps,
    )


def _streams(
    tree: Tree, episodes: tuple[PlannedEpisode, ...], about: dict[str, Any], times: str
) -> tuple[PlannedStream, ...]:
    sources = dict.fromkeys(source for episode in episodes for source in tree.children(episode.group))
    streams: list[PlannedStream] = []
    names: set[str] = set()
    table: dict[str, str] = {}
    for source in sources:
        array = sample_of(tree, episodes, source)
        if source == times:
            continue
        if source in _BOOKKEEPING and array is not None and array.is_number and array.shape[1:] in ((), (1,)):
            table[_BOOKKEEPING[source]] = source
            continue
        decoder = decoder_for(array, source) if array is not None else None
        if array is None or decoder is None:
            continue
        picture = decoder.kind in (Kind.IMAGE, Kind.DEPTH)
        name = distinct(stream_name(source, picture=picture and source.startswith("obs/")), names)
        names.add(name)
        attributes = {"key": source}
        if picture and about.get("macros_image_convention") == "opengl":
            attributes["rows"] = "bottom up: macros_image_convention is opengl"
        streams.append(PlannedStream(name, decoder, role=role_of(name), attributes=attributes))
    if table:
        key = ", ".join(table.values())
        streams.append(PlannedStream(distinct("steps", names), Table(table), attributes={"key": key}))
    return tuple(streams)


def _steps(tree: Tree, name: str, declared: object, notes: Notes) -> int | None:
    actions = tree.arrays.get(f"data/{name}/actions")
    if actions is None:
        return None
    if isinstance(declared, int) and declared != actions.rows:
        notes.add(
            Problem.COUNT,
            f"num_samples is {declared}, there are {actions.rows} actions",
            Where(file=str(tree.path), stream=f"data/{name}"),
            max(0, declared - actions.rows),
        )
    return actions.rows


def _filters(tree: Tree) -> dict[str, list[str]]:
    """demonstration -> the filters that list it."""
    filters: dict[str, list[str]] = defaultdict(list)
    for name in tree.children("mask"):
        for demo in tree.texts(f"mask/{name}"):
            filters[demo].append(name)
    return filters


def _instruction(problem: dict[str, Any]) -> str | None:
    said = problem.get("language_instruction")
    if isinstance(said, list):
        said = " ".join(map(str, said))
    return said.strip() or None if isinstance(said, str) else None


def _json(text: object) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _number(name: str) -> tuple[int, str]:
    digits = re.search(r"\d{1,12}$", name)
    return (int(digits[0]) if digits else 0, name)
