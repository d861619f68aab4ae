"""YAML as calibration tools write it, OpenCV's dialect included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import UnreadableError

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

#: OpenCV's first line is no directive of YAML.
_FIRST = re.compile(r"\A%YAML[: ]\s*1\.0\s*\n(---)?")
#: Aliases let a few lines stand for gigabytes; no calibration tool writes them.
_ALIAS = re.compile(r"(^|[\s\[,:-])[&*][A-Za-z0-9_]+", re.MULTILINE)


def load_yaml(text: str) -> dict[str, Any]:
    """The mapping that a text holds; matrices as mappings with rows, cols and data.

    Raises:
        UnreadableError: it is no YAML, no mapping, or has anchors and aliases.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import YAMLError

    if _ALIAS.search(text):
        raise UnreadableError("the YAML has anchors or aliases", expected="plain values")

    class Constructor(SafeConstructor):
        """Reads what has a tag of its own, such as ``!!opencv-matrix``, as a plain mapping."""

    def untagged(constructor: SafeConstructor, node: Node) -> object:
        return constructor.construct_mapping(node, deep=True)

    Constructor.add_constructor("tag:yaml.org,2002:opencv-matrix", untagged)
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = Constructor
    try:
        loaded = yaml.load(_FIRST.sub("", text))
    except (YAMLError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise UnreadableError(f"the YAML does not parse: {str(error).splitlines()[0]}") from None
    if not isinstance(loaded, dict):
        raise UnreadableError("the YAML holds no mapping")
    return {str(key): value for key, value in loaded.items()}
