"""What `metadata.yaml` (or the `metadata` table inside a bag) says of a ROS 2 bag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from twinloop.core.errors import UnreadableError, Where

FILE_NAME = "metadata.yaml"
KEY = "rosbag2_bagfile_information"
#: A bag of ten thousand topics stays below this.
_MAX_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class BagMetadata:
    """What a bag declares of itself.

    Attributes:
        files: names of its storage files, in order. storage: ``sqlite3`` or ``mcap``.
        counts: topic -> declared messages. distro: ROS release that recorded it, if known.
        compression_mode: ``none``, ``file`` or ``message``. texts: all plain values, for the recording.
    """

    files: tuple[str, ...] = ()
    storage: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    message_count: int | None = None
    distro: str | None = None
    compression_mode: str = "none"
    compression_format: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


def parse_metadata(text: bytes, source: str) -> BagMetadata:
    """Metadata from YAML; values of an unexpected form are left out.

    Raises:
        UnreadableError: it is not YAML or not a ROS 2 bag's metadata.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text) > _MAX_BYTES:
        raise UnreadableError("the bag's metadata is larger than any bag needs", where=source)
    try:
        loaded = YAML(typ="safe", pure=True).load(text.decode("utf-8", "replace"))
    except (YAMLError, ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnreadableError(
            f"the bag's metadata is not YAML ({first_line})", where=Where(file=source)
        ) from error
    info = loaded.get(KEY, loaded) if isinstance(loaded, dict) else None
    if not isinstance(info, dict) or "relative_file_paths" not in info:
        raise UnreadableError(
            "it is not the metadata of a ROS 2 bag",
            where=source,
            expected=f"a mapping {KEY!r} that lists files",
        )
    return _from_mapping(info)


def _from_mapping(info: dict[str, Any]) -> BagMetadata:
    topics = [entry for entry in _list(info.get("topics_with_message_count")) if isinstance(entry, dict)]
    counts: dict[str, int] = {}
    for entry in topics:
        topic = entry.get("topic_metadata")
        count = entry.get("message_count")
        if isinstance(topic, dict) and isinstance(count, int):
            name = str(topic.get("name", ""))
            counts[name] = counts.get(name, 0) + count
    total = info.get("message_count")
    return BagMetadata(
        files=tuple(str(file) for file in _list(info.get("relative_file_paths"))),
        storage=str(info.get("storage_identifier") or ""),
        counts=counts,
        message_count=total if isinstance(total, int) else None,
        distro=str(info["ros_distro"]) if info.get("ros_distro") else None,
        compression_mode=str(info.get("compression_mode") or "none").lower(),
        compression_format=str(info.get("compression_format") or "").lower(),
        texts=_texts(info),
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(info: dict[str, Any]) -> dict[str, str]:
    kept = ("version", "storage_identifier", "ros_distro", "compression_format", "compression_mode")
    texts = {f"rosbag2/{key}": str(info[key]) for key in kept if info.get(key) not in (None, "")}
    custom = info.get("custom_data")
    if isinstance(custom, dict):
        texts.update({f"rosbag2/custom_data/{key}": str(value) for key, value in custom.items()})
    return texts
