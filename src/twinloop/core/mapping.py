"""The mapping: how streams become features, and how a long recording becomes episodes.

A mapping is a TOML file, proposed by `twinloop map`, edited by hand, stored with the session. Reasons stand
in it as comments (``# why: ...``), which survive reading and writing.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from twinloop.core.errors import MappingError
from twinloop.core.kinds import Role
from twinloop.core.toml_lines import TomlLines
from twinloop.core.toml_text import comment, inline
from twinloop.core.units import UNDECLARED

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = 1


class Cut(StrEnum):
    """How episodes are cut out of a recording."""

    WHOLE = "whole"  # one per recording
    MARKED = "marked"  # as the source itself marks them
    TOPIC = "topic"  # start and stop values of a field of a stream
    SPANS = "spans"  # a table of spans beside the recording
    GAPS = "gaps"  # at silences of the state stream


class Representation(StrEnum):
    """What an action's numbers are relative to."""

    ABSOLUTE = "absolute"
    DELTA = "delta"
    CHUNK_RELATIVE = "chunk_relative"


@dataclass(frozen=True, slots=True)
class EpisodeCut:
    """How to cut. `stream`, `field`, `start`, `stop` for TOPIC; `table` for SPANS; `idle_s` for GAPS."""

    by: Cut = Cut.WHOLE
    stream: str | None = None
    field: str | None = None
    start: str | None = None
    stop: str | None = None
    table: str | None = None
    idle_s: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of an episode and where its values come from.

    Attributes:
        name: LeRobot's name: ``observation.state``, ``observation.images.<cam>``, ``action``...
        stream, field: the source; `field` is a column of the stream (``position``), None for images.
        names: the order of its elements (joint names, axes); empty: as the source has them.
        unit: of its values. role: its part in learning.
        space, representation, applied: for actions: joint, ee_pose, ee_delta, base_twist, gripper...;
            relative to what; whether it is the applied (True) or the commanded (False) one.
        why: the proposal's reason.
    """

    name: str
    stream: str
    role: Role
    field: str | None = None
    names: tuple[str, ...] = ()
    unit: str = UNDECLARED
    space: str | None = None
    representation: Representation | None = None
    applied: bool | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Features and the cut. Streams that no feature names are kept and listed, never dropped."""

    features: tuple[Feature, ...] = ()
    episodes: EpisodeCut = EpisodeCut()
    schema: int = SCHEMA

    def by_role(self, role: Role) -> tuple[Feature, ...]:
        """The features of one role, in the mapping's order."""
        return tuple(feature for feature in self.features if feature.role is role)


def load_mapping(path: Path | str) -> Mapping:
    """Read a mapping file.

    Raises:
        MappingError: the file is missing, is no TOML, or says something a mapping cannot say (an unknown
            key, a wrong type, a name used twice); the message gives file, line and what was meant.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is not UTF-8: {error}"
        raise MappingError(
            f"the mapping cannot be read: {reason}", where=str(path), fix="make one with `twinloop map`"
        ) from None
    return parse_mapping(text, str(path))


def parse_mapping(text: str, source: str = "mapping") -> Mapping:
    """The mapping that `text` says; `source` names it in errors. Raises MappingError as `load_mapping`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MappingError(f"the mapping is not valid TOML: {error}", where=source) from None
    return _Parser(TomlLines(text), source).mapping(table)


def dump_mapping(mapping: Mapping, unmapped: Sequence[str] = ()) -> str:
    """The mapping as TOML that `load_mapping` reads back equal; `unmapped` streams are listed as comments."""
    lines = ["# How streams become features, and the recording becomes episodes.", f"schema = {mapping.schema}"]
    lines += ["", "[episodes]", *_body(mapping.episodes)]
    for feature in mapping.features:
        lines += ["", "[[features]]", *_body(feature)]
    if unmapped:
        lines += ["", "# Not mapped (kept with the session, in no feature):"]
        lines += [line for name in unmapped for line in comment(name, indent="  ")]
    return "\n".join(lines) + "\n"


def _body(entry: EpisodeCut | Feature) -> list[str]:
    """The lines of one table: the reason first, then every key that says something."""
    lines = comment(f"why: {entry.why}") if entry.why else []
    for item in fields(entry):
        value = getattr(entry, item.name)
        if item.name == "unit" and value == UNDECLARED and not getattr(entry, "names", ()):
            continue  # pictures and texts have none
        if item.name != "why" and value is not None and value != ():
            lines.append(f"{item.name} = {inline(value)}")
    return lines


_T = TypeVar("_T", EpisodeCut, Feature)


class _Parser:
    """Turns TOML values into a mapping and knows the line of each for errors."""

    def __init__(self, lines: TomlLines, source: str) -> None:
        self.lines = lines
        self.source = source

    def mapping(self, table: dict[str, Any]) -> Mapping:
        self.check_keys(table, ("schema", "episodes", "features"), ())
        schema = table.get("schema", SCHEMA)
        if schema != SCHEMA or isinstance(schema, bool):
            raise self.error(f"a mapping of schema {schema!r}", "schema", expected=f"schema = {SCHEMA}")
        entries = table.get("features", [])
        if not isinstance(entries, list):
            raise self.error("features is not a list of tables", "features", expected="[[features]]")
        features = tuple(self.entry(Feature, e, ("features", i)) for i, e in enumerate(entries))
        for index, feature in enumerate(features):
            first = next(i for i, f in enumerate(features) if f.name == feature.name)
            if first != index:
                line = self.lines.line("features", first, "name")
                raise self.error(
                    f"two features are named {feature.name!r}",
                    *("features", index, "name"),
                    expected="each name once" + (f"; line {line} has it too" if line else ""),
                )
        return Mapping(features, self.entry(EpisodeCut, table.get("episodes", {}), ("episodes",)))

    def entry(self, cls: type[_T], table: object, place: tuple[str | int, ...]) -> _T:
        import msgspec

        title = "feature" if cls is Feature else "episodes"
        if not isinstance(table, dict):
            raise self.error(f"{title} is not a table but {table!r}", *place, expected=f"[{place[0]}]")
        self.check_keys(table, tuple(item.name for item in fields(cls)), place)
        try:
            entry: _T = msgspec.convert(table, cls)
        except msgspec.ValidationError as error:
            message, _, path = str(error).partition(" - at `$")
            key = path.strip(".`").split("[")[0]
            said = f": {key} = {table[key]!r}" if key in table else ""
            raise self.error(f"{title}{said}: {message}", *place, key, expected=_choices(key)) from None
        reason = self.lines.reasons.get(place)
        return replace(entry, why=reason) if reason and not entry.why else entry

    def check_keys(self, table: dict[str, Any], known: tuple[str, ...], place: tuple[str | int, ...]) -> None:
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1, cutoff=0.5)
                raise self.error(
                    f"there is no key {key!r}{' in ' + str(place[0]) if place else ''}",
                    *(*place, key),
                    expected=f"one of: {', '.join(known)}",
                    fix=f"did you mean {near[0]}?" if near else None,
                )

    def error(
        self, what: str, *place: str | int, expected: str | None = None, fix: str | None = None
    ) -> MappingError:
        line = self.lines.line(*place)
        where = self.source if line is None else f"{self.source}, line {line}"
        return MappingError(what, where=where, expected=expected, fix=fix)


def _choices(key: str) -> str | None:
    """The values that an enumerated key may have."""
    enums: dict[str, type[StrEnum]] = {"role": Role, "representation": Representation, "by": Cut}
    return f"one of: {', '.join(enums[key])}" if key in enums else None
