"""docs/mapping.md shows a mapping that is one, and leaves out no key."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from twinloop.core.kinds import Role
from twinloop.core.mapping import Cut, EpisodeCut, Feature, Representation, dump_mapping, parse_mapping
from twinloop.formats.mapping.episodes import DEFAULT_IDLE_S

PAGE = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text()


def test_the_example_is_a_mapping():
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    mapping = parse_mapping(example)
    assert mapping.features[0].why.startswith("its motion leads")
    assert parse_mapping(dump_mapping(mapping)) == mapping


def test_every_key_and_value_is_there():
    features, episodes = PAGE.split("## Episodes")
    for item in fields(Feature):
        assert f"| `{item.name}` |" in features, item.name
    for item in fields(EpisodeCut):
        assert re.search(rf"^\|.*`{item.name}`.*\|", episodes, re.MULTILINE), item.name
    for value in (*Role, *Representation, *Cut):
        assert f"`{value.value}`" in PAGE, value
    assert f"({DEFAULT_IDLE_S:g} s)" in episodes
