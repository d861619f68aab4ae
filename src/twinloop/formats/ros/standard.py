"""Definitions of the standard types, for recordings that carry none."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from twinloop.formats.ros.definitions import normal_name

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore


def standard_definition(type_name: str, ros2: bool, distro: str | None = None) -> str | None:
    """The definition of a standard type with those it uses, as rosbags ships them; None for other types.

    Args:
        ros2: as ROS 2 has it; else as ROS 1 Noetic.
        distro: the ROS 2 release to take it from, such as ``humble``; the newest known where this is
            None or not known.
    """
    store = _store(distro.lower() if ros2 and distro else None, ros2)
    name = normal_name(type_name)
    if name not in store.fielddefs:
        return None
    text, _ = store.generate_msgdef(name, ros_version=2 if ros2 else 1)
    return text


@cache
def _store(distro: str | None, ros2: bool) -> Typestore:
    from rosbags.typesys import Stores, get_typestore

    if not ros2:
        return get_typestore(Stores.ROS1_NOETIC)
    return get_typestore(next((s for s in Stores if s.name == f"ROS2_{(distro or '').upper()}"), Stores.LATEST))
