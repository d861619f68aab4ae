"""Profiles: which rules run and with which limits, in TOML.

A profile is a file in `checks/profiles`, or any path. A table per code overrides limits of that rule and,
with the keys `severity` and `enabled`, the rule itself::

    description = "for robots at 500 Hz"
    extends = "default"

    [TIM004]
    periods = 3.0
    severity = "error"

    [SYN006]
    enabled = false
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinloop.checks.rule import Rule, limit_names, limit_types
from twinloop.core.errors import UnknownNameError, UsageError, Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping


_SHIPPED = Path(__file__).parent / "profiles"
_OF_THE_RULE = ("severity", "enabled")


@dataclass(frozen=True, slots=True)
class Profile:
    """Overrides by rule code: limit names to values, `severity`, `enabled`."""

    name: str
    description: str = ""
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = ""

    def enabled(self, rule: Rule) -> bool:
        """Whether the rule runs."""
        return bool(self.overrides.get(rule.code, {}).get("enabled", True))

    def severity(self, rule: Rule) -> Severity | None:
        """The severity that all findings of the rule get; None: what the rule says."""
        word = self.overrides.get(rule.code, {}).get("severity")
        return None if word is None else Severity(word)

    def limits(self, rule: Rule) -> Any:
        """The rule's limits with this profile's values in them.

        Raises:
            UnknownNameError: the profile sets a limit that the rule does not have.
            UsageError: a value is of the wrong type.
        """
        given = {k: v for k, v in self.overrides.get(rule.code, {}).items() if k not in _OF_THE_RULE}
        known, types = limit_names(rule.limits), limit_types(rule.limits)
        for name, value in given.items():
            if name not in known:
                raise UnknownNameError(f"limit of rule {rule.code}", name, [*known, *_OF_THE_RULE])
            if types[name] is float and type(value) is int:
                given[name] = float(value)
            elif type(value) is not types[name]:
                raise UsageError(
                    f"{rule.code}.{name} is {value!r}",
                    where=Where(file=self.source),
                    expected=f"a value of type {types[name].__name__}, such as {known[name]!r}",
                )
        return rule.limits(**given)


def profile_names() -> list[str]:
    """The profiles that come with twinloop."""
    return sorted(entry.name.removesuffix(".toml") for entry in _SHIPPED.iterdir() if entry.suffix == ".toml")


def load_profile(name: str = "default") -> Profile:
    """A profile by name, or by the path of a TOML file.

    Raises:
        UnknownNameError: no profile has this name, and there is no such file.
        UsageError: the file does not parse, or sets something that is no table of limits.
    """
    return _load(_find(name, Path()), seen=())


def check_profile(profile: Profile, catalog: Mapping[str, Rule]) -> None:
    """See that a profile names only rules and limits that exist.

    Raises:
        UnknownNameError: it does not.
    """
    for code in profile.overrides:
        if code not in catalog:
            raise UnknownNameError("rule", code, catalog)
        profile.limits(catalog[code])


def _find(name: str, folder: Path) -> Path:
    """The file of a profile: one that comes with twinloop, or a path from `folder`."""
    if name in profile_names():
        return _SHIPPED / f"{name}.toml"
    if (path := folder / name).is_file():
        return path
    raise UnknownNameError("profile", name, profile_names())


def _load(path: Path, seen: tuple[Path, ...]) -> Profile:
    if path in seen:
        raise UsageError("profiles extend each other in a circle", where=" -> ".join(map(str, (*seen, path))))
    data = _parse(path)
    overrides: dict[str, dict[str, Any]] = {}
    if parent := data.pop("extends", None):
        inherited = _load(_find(str(parent), path.parent), (*seen, path)).overrides
        overrides = {code: dict(values) for code, values in inherited.items()}
    description = str(data.pop("description", ""))
    for code, values in data.items():
        if not isinstance(values, dict):
            raise UsageError(
                f"the profile sets {code} to {values!r}",
                where=Where(file=str(path)),
                expected="tables named by rule codes, `description` and `extends`",
            )
        _check_rule_keys(code, values, path)
        overrides.setdefault(code, {}).update(values)
    return Profile(path.stem, description, overrides, str(path))


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the profile cannot be read: {error.strerror}", where=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the profile does not parse: {error}", where=str(path)) from None


def _check_rule_keys(code: str, values: dict[str, Any], path: Path) -> None:
    severity, enabled = values.get("severity", "info"), values.get("enabled", True)
    if severity not in [s.value for s in Severity] or not isinstance(enabled, bool):
        raise UsageError(
            f"table {code} of the profile has severity {severity!r} and enabled {enabled!r}",
            where=Where(file=str(path)),
            expected="severity = error, warning or info; enabled = true or false",
        )
