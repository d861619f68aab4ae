"""What the words in a topic's name tell."""

from __future__ import annotations

import re
from pathlib import PurePosixPath


def word_set(text: str) -> frozenset[str]:
    """The words of a text with spaces between them."""
    return frozenset(text.split())


COMMAND = word_set(
    "action actions cmd command commands commanded control ctrl desired goal ref reference setpoint target"
    " targets"
)
LEADER = word_set("leader leaders master masters teleop teleoperation operator gello puppeteer")
FOLLOWER = word_set("follower followers puppet puppets slave measured actual feedback")
STATE = word_set("state states current encoder encoders")
GENERIC = word_set("joint joints js position positions robot data msg raw topic ros observation qpos")
SIDES = word_set("left right l r front rear back top upper lower 1 2 3 4")

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def words(name: str) -> list[str]:
    """The words of a topic's name in lower case: ``/leftArm/joint_states`` -> left, arm, joint, states."""
    return [word.lower() for word in _WORD.findall(name)]


def commands(name: str) -> bool:
    """Whether the name speaks of commands, or of the device that gives them."""
    found = set(words(name))
    return bool(found & (COMMAND | LEADER)) and not found & FOLLOWER


def leads(name: str) -> bool:
    """Whether the name speaks of the operator's device."""
    found = set(words(name))
    return bool(found & LEADER) and not found & FOLLOWER


def follows(name: str) -> bool:
    """Whether the name speaks of what the robot does, and of no command."""
    return bool(set(words(name)) & (STATE | FOLLOWER)) and not commands(name)


def subject(name: str) -> frozenset[str]:
    """What is left of a name without the words for state, command and the like: whose stream it is."""
    return frozenset(words(name)) - COMMAND - LEADER - FOLLOWER - STATE - GENERIC


def slug(parts: list[str]) -> str:
    """Words as part of a feature's name."""
    return re.sub(r"[^A-Za-z0-9]+", "_", "_".join(parts)).strip("_")


def segments(name: str) -> list[str]:
    """A topic's parts between slashes; the suffix of a file's name is left out."""
    return [part for part in PurePosixPath(name).with_suffix("").parts if part != "/"]
