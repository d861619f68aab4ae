"""From a dataset's own keys to streams: names as LeRobot gives them, and parts in learning."""

from __future__ import annotations

from twinloop.core.kinds import Role

_OBSERVATION = frozenset({"observation", "observations", "obs"})
_ACTION = frozenset({"action", "actions"})
_FOLDERS = frozenset({"images", "image", "rgb_images"})


def stream_name(key: str, *, picture: bool = False) -> str:
    """The stream of a key such as ``observation/state``.

    >>> stream_name("obs/robot0_eef_pos"), stream_name("actions")
    ('observation.robot0_eef_pos', 'action')
    >>> stream_name("observations/images/cam_high", picture=True)
    'observation.images.cam_high'
    """
    first, *rest = key.split("/")
    if first in _OBSERVATION and rest:
        if picture:
            return ".".join(
                ["observation", "images", *(rest[1:] if rest[0] in _FOLDERS and rest[1:] else rest)]
            )
        return ".".join(["observation", *rest])
    if first in _ACTION:
        return ".".join(["action", *rest])
    return ".".join([first, *rest])


def role_of(name: str) -> Role | None:
    """The part in learning that a stream's name tells."""
    if name.split(".")[0] == "action":
        return Role.ACTION
    return Role.OBSERVATION if name.startswith("observation.") else None


def distinct(name: str, taken: dict[str, object] | set[str]) -> str:
    """The name, with a number behind it where another stream has it."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
