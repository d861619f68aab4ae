"""What a JSON Schema says of the flat columns of messages (https://json-schema.org, drafts 4 to 2020-12).

Used to give columns a type that does not depend on the values of one batch. What a schema does not say, or
says in ways not listed here (``oneOf``, ``patternProperties``...), is left to the values.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from twinloop.core.errors import TwinloopError
from twinloop.formats.flat import TIME

_TYPES = {"number": pa.float64(), "integer": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}
_DEEPEST = 32
#: Names of the fields of a time or duration, as Foxglove, ROS 2, ROS 1 and protobuf spell them.
_MOMENTS = ({"sec", "nsec"}, {"sec", "nanosec"}, {"secs", "nsecs"}, {"seconds", "nanos"})


class JsonSchemaError(TwinloopError):
    """A JSON Schema does not parse."""

    exit_code = 3


def is_moment(names: set[str]) -> bool:
    """Whether an object of these fields is a time or duration."""
    return names in _MOMENTS


def declared_types(type_name: str, schema: str) -> dict[str, pa.DataType]:
    """Path -> type of the flat column that `schema` declares; binary for base64 strings, `TIME` for times.

    Raises:
        JsonSchemaError: it is no JSON object.
    """
    if not schema.strip():
        return {}
    try:
        root = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise JsonSchemaError(f"the JSON schema of {type_name} does not parse: {error}") from None
    if not isinstance(root, dict):
        raise JsonSchemaError(f"the JSON schema of {type_name} is no object")
    found: dict[str, pa.DataType] = {}
    _add(root, root, "", 0, found, 0)
    return found


def _add(
    node: Any, root: dict[str, Any], path: str, lists: int, found: dict[str, pa.DataType], depth: int
) -> None:
    node = _resolved(node, root)
    if node is None or depth > _DEEPEST:
        return
    properties = node.get("properties")
    if isinstance(properties, dict) and not (is_moment(set(properties)) and path):
        for name, inner in properties.items():
            _add(inner, root, f"{path}.{name}" if path else name, lists, found, depth + 1)
        return
    kind = _single(node.get("type"))
    if kind == "array":
        _add(node.get("items"), root, path, lists + 1, found, depth + 1)
        return
    if isinstance(properties, dict):
        type_ = TIME
    elif kind == "string" and node.get("contentEncoding") == "base64":
        type_ = pa.binary()
    elif kind in _TYPES:
        type_ = _TYPES[kind]
    else:
        return
    for _ in range(lists):
        type_ = pa.list_(type_)
    if path:
        found[path] = type_


def _single(kind: Any) -> str:
    """The one type that is meant, ``["number", "null"]`` being a number that may be missing."""
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
        kind = kinds[0] if len(kinds) == 1 else ""
    return kind if isinstance(kind, str) else ""


def _resolved(node: Any, root: dict[str, Any]) -> dict[str, Any] | None:
    """The node, or what its local ``$ref`` points to."""
    for _ in range(_DEEPEST):
        if not isinstance(node, dict):
            return None
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return node
        if not reference.startswith("#/"):
            return None
        target: Any = root
        for part in reference[2:].split("/"):
            target = target.get(part) if isinstance(target, dict) else None
        node = target
    return None
