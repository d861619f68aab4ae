"""All rules there are: built-ins found by walking `checks/rules`, others through entry points.

Built-ins are found by walking their package instead of by entry points, so that a new rule is one new file
and no list to edit, and so that a rule written a minute ago runs without a new installation.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from twinloop.checks import rules
from twinloop.checks.rule import Rule, RuleError
from twinloop.core.errors import UnknownNameError
from twinloop.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Collection

#: Rules of other packages: entry points whose value is a `Rule`.
RULES: Registry[Rule] = Registry("twinloop.rules", "rule")


@cache
def built_in_rules() -> tuple[Rule, ...]:
    """The rules in this package, by code."""
    found = []
    for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        if not module.ispkg:
            found += [
                item
                for item in vars(import_module(module.name)).values()
                if isinstance(item, Rule) and item.judge.__module__ == module.name
            ]
    return tuple(sorted(found, key=lambda rule: rule.code))


def all_rules() -> dict[str, Rule]:
    """Code -> rule, built-ins and plug-ins, in the order of their codes.

    Raises:
        RuleError: two rules have the same code.
        TwinloopError: a plug-in does not load.
    """
    catalog: dict[str, Rule] = {}
    for rule in (*built_in_rules(), *(plugin for _, plugin in RULES)):
        if rule.code in catalog:
            raise RuleError(
                f"two rules have the code {rule.code}: {catalog[rule.code].name} and {rule.name}",
                fix="uninstall one, or give a plug-in's rule letters of its own",
            )
        catalog[rule.code] = rule
    return dict(sorted(catalog.items()))


def find_rule(word: str) -> Rule:
    """The rule with this code or name.

    Raises:
        UnknownNameError: there is none; near ones are in the message.
    """
    catalog = all_rules()
    for rule in catalog.values():
        if word.upper() == rule.code or word == rule.name:
            return rule
    raise UnknownNameError("rule", word, [*catalog, *(rule.name for rule in catalog.values())])


def choose_rules(select: Collection[str] | None = None, ignore: Collection[str] = ()) -> list[Rule]:
    """The rules that are selected (None: all) and not ignored, by code, name, or family (``TIM``).

    Raises:
        UnknownNameError: a word names no rule and no family.
    """
    catalog = all_rules()
    chosen = set(catalog) if select is None else _codes(catalog, select)
    chosen -= _codes(catalog, ignore)
    return [rule for code, rule in catalog.items() if code in chosen]


def _codes(catalog: dict[str, Rule], words: Collection[str]) -> set[str]:
    codes: set[str] = set()
    for word in words:
        matches = {
            code
            for code, rule in catalog.items()
            if word == rule.name or (len(word) >= 3 and code.startswith(word.upper()))
        }
        if not matches:
            known = [*catalog, *{rule.family for rule in catalog.values()}, *(r.name for r in catalog.values())]
            raise UnknownNameError("rule", word, known)
        codes |= matches
    return codes
