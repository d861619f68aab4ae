"""metadata.yaml: episodes with their outcomes, tasks, declared rates, names of joints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.steps.grid import likely_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from twinloop.formats.notes import Notes

FILE = "metadata.yaml"
_MOST_BYTES, _DEEPEST, _MOST_FACTS = 4 << 20, 24, 20_000
#: The joints of an arm as OpenArm's own library names them, where the dataset names none.
_ARM = (*(f"joint{k}" for k in range(1, 8)), "gripper")


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode as the dataset lists it."""

    id: str
    instruction: str | None = None
    outcome: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What metadata.yaml (and episodes.jsonl) say."""

    raw: Mapping[str, Any]
    episodes: tuple[Episode, ...]
    flat: Mapping[str, str]

    def rate_hz(self, parts: Sequence[str]) -> float | None:
        """The declared rate of ``obs/arms/left`` and the like; None: none is declared."""
        node: Any = self.raw.get("frequencies")
        for part in parts:
            node = node.get(part) if isinstance(node, Mapping) else node
        return likely_rate(node)

    def joints(self, parts: Sequence[str], width: int) -> tuple[str, ...]:
        """The names of `width` joints of ``obs/left_arm`` and the like; empty: nobody names them."""
        body = _mapping(self.raw, "equipment", "leader" if parts[0] == "action" else "follower", "arms")
        arms = {str(name): arm for name, arm in body.items()}
        for name in (parts[-1], "_".join(reversed(parts[-1].split("_")))):
            said = _mapping(arms, name).get("joints")
            if isinstance(said, list) and len(said) == width:
                return tuple(map(str, said))
        return _ARM if width == len(_ARM) and "arm" in "/".join(parts) else ()


def read_metadata(root: Path, notes: Notes) -> Metadata:
    """The dataset's own description.

    Raises:
        UnreadableError: it is no YAML of names and values.
    """
    raw = _load(root / FILE)
    inner = raw.get("meta")
    said = {**raw, **inner} if isinstance(inner, Mapping) else raw
    tasks = [task if isinstance(task, Mapping) else {} for task in _list(said.get("tasks"))]
    listed = _list(said.get("episodes")) or list(_json_lines(root / "episodes.jsonl", notes))
    episodes = tuple(_episode(one, tasks) for one in listed if isinstance(one, Mapping) and "id" in one)
    flat = dict(_flat({k: v for k, v in said.items() if k not in ("meta", "episodes")}))
    return Metadata(said, episodes, flat)


def _load(path: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML

    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES)
        raw = YAML(typ="safe", pure=True).load(text)
    except OSError as error:
        raise UnreadableError(f"the system refuses to read it: {error.strerror}", where=str(path)) from error
    except Exception as error:  # ruamel raises many kinds over damaged text
        raise UnreadableError(f"metadata.yaml is no YAML: {error}", where=str(path)) from error
    if not isinstance(raw, dict):
        raise UnreadableError("metadata.yaml holds no names and values", where=str(path))
    return raw


def _episode(said: Mapping[str, Any], tasks: list[Mapping[str, Any]]) -> Episode:
    number = said.get("task_index")
    task = tasks[number] if isinstance(number, int) and 0 <= number < len(tasks) else {}
    success = said.get("success")
    attributes = {str(k): v if isinstance(v, str) else json.dumps(v, default=str) for k, v in said.items()}
    if task.get("description"):
        attributes["description"] = str(task["description"])
    prompt = task.get("prompt")
    return Episode(
        str(said["id"]),
        str(prompt) if prompt else None,
        None if not isinstance(success, bool) else "success" if success else "failure",
        attributes,
    )


def _json_lines(path: Path, notes: Notes) -> Iterator[Any]:
    try:
        lines = path.read_bytes()[:_MOST_BYTES].splitlines()
    except OSError:
        return
    for row, line in enumerate(lines):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            notes.add(Problem.CORRUPT, f"a line that is no JSON: {error}", Where(file=str(path), row=row), 1)


def _mapping(node: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _flat(node: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys joined by ``/``, values as text; anchors that repeat themselves without end are cut off."""
    flat: list[tuple[str, str]] = []

    def add(value: Any, name: str, depth: int) -> None:
        if len(flat) >= _MOST_FACTS or depth > _DEEPEST:
            return
        if isinstance(value, Mapping):
            for key, inner in value.items():
                add(inner, f"{name}/{key}" if name else str(key), depth + 1)
        elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
            for number, inner in enumerate(value):
                add(inner, f"{name}/{number}", depth + 1)
        elif value is not None:
            flat.append((name, value if isinstance(value, str) else json.dumps(value, default=str)))

    add(node, "", 0)
    return flat
