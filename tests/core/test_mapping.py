"""Mapping files: what is written is read back, and what is wrong is named with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinloop.core.errors import MappingError
from twinloop.core.kinds import Role
from twinloop.core.mapping import (
    Cut,
    EpisodeCut,
    Feature,
    Mapping,
    Representation,
    dump_mapping,
    load_mapping,
    parse_mapping,
)

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """schema = 1

[episodes]
# why: the operator presses a pedal
by = "topic"
stream = "/episode"
start = "start"

[[features]]
# why: it follows the leader
#   by 120 ms
name = "observation.state"
stream = "/joint_states"
role = "observation"
field = "position"
names = [
  "a",
  "b",
]
unit = "rad"

[[features]]
name = "action"
stream = "/leader"
role = "action"
space = "joint"
"""

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
reasons = st.lists(st.text("abc:#=[]\"'é", min_size=1, max_size=30), max_size=12).map(" ".join)
optional = st.none() | words
cuts = st.builds(
    EpisodeCut, st.sampled_from(Cut), optional, optional, optional, optional, optional,
    st.none() | st.floats(0, 1e6), reasons,
)  # fmt: skip
features = st.lists(
    st.builds(
        Feature, words, words, st.sampled_from(Role), optional, st.lists(words, max_size=4).map(tuple),
        words, optional, st.none() | st.sampled_from(Representation), st.none() | st.booleans(), reasons,
    ),
    max_size=4,
    unique_by=lambda feature: feature.name,
)  # fmt: skip


@given(features, cuts)
def test_what_is_written_is_read_back(features: list[Feature], cut: EpisodeCut) -> None:
    mapping = Mapping(tuple(features), cut)
    assert parse_mapping(dump_mapping(mapping, ["/tf: frames", "odd\nname"])) == mapping


def test_reasons_are_read_from_comments() -> None:
    mapping = parse_mapping(TEXT)
    assert mapping.episodes.why == "the operator presses a pedal"
    assert mapping.features[0].why == "it follows the leader by 120 ms"
    assert mapping.features[1].why == ""
    assert mapping.features[0].names == ("a", "b")


@pytest.mark.parametrize(
    ("old", "new", "says", "line"),
    [
        ('space = "joint"', 'spce = "joint"', "there is no key 'spce'.*did you mean space", 26),
        ('role = "action"', 'role = "actn"', "role = 'actn'.*one of: observation, action", 25),
        ('"a",', "3,", "names", 16),
        ('unit = "rad"', "unit = 1", "unit = 1", 20),
        ('name = "action"', 'name = "observation.state"', "two features.*line 12", 23),
        ('name = "action"\n', "", "required field `name`", 22),
        ("schema = 1", "schema = 7", "schema 7", 1),
        ("[episodes]", "[episode]", "there is no key 'episode'.*did you mean episodes", 3),
        ('by = "topic"', 'by = "pedal"', "one of: whole, marked", 5),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, old: str, new: str, says: str, line: int) -> None:
    file = tmp_path / "mapping.toml"
    file.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(MappingError, match=f"(?s){says}") as caught:
        load_mapping(file)
    assert f"{file}, line {line}\n" in f"{caught.value}\n"


@pytest.mark.parametrize(
    "content", [b"a = ", b"\xff\xfe", b"features = 3", b"[[features]]\n[episodes", b"episodes = 1"]
)
def test_no_mapping_at_all(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "mapping.toml"
    file.write_bytes(content)
    with pytest.raises(MappingError, match=r"mapping\.toml"):
        load_mapping(file)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(MappingError, match="twinloop map"):
        load_mapping(tmp_path / "none.toml")
