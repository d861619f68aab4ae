"""Message definitions from a folder of `.msg` files, put together as a recorder would have stored them."""

from __future__ import annotations

import re
from pathlib import Path

_SEPARATOR = "=" * 80
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_PRIMITIVES = frozenset([*_INTEGERS, "bool", "byte", "char", "float32", "float64", "string", "wstring"])
_BOUND = re.compile(r"(<=\d+)?(\[[^\]]*\])?$")


class TypesDir:
    """A folder that holds ``pkg/msg/Name.msg`` anywhere below it, as a ROS workspace or `share` does."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            f"{file.parent.parent.name}/msg/{file.stem}": file for file in sorted(folder.rglob("msg/*.msg"))
        }

    def definition(self, type_name: str) -> str | None:
        """The definition of a type with those of all types it holds; None if the folder does not have it."""
        if type_name not in self._files:
            return None
        texts = {type_name: self._text(type_name)}
        waiting = [type_name]
        while waiting:
            name = waiting.pop()
            for needed in needed_types(texts[name], package=name.split("/")[0]):
                if needed in texts:
                    continue
                text = self._text(needed) if needed in self._files else standard_text(needed)
                if text is not None:
                    texts[needed] = text
                    waiting.append(needed)
        own = texts.pop(type_name)
        parts = [f"{_SEPARATOR}\nMSG: {name.replace('/msg/', '/')}\n{text}" for name, text in texts.items()]
        return "\n".join([own, *parts])

    def _text(self, type_name: str) -> str:
        return self._files[type_name].read_text("utf-8", "replace")


def standard_text(type_name: str) -> str | None:
    """The own text of a standard type, without those of the types it holds."""
    from twinloop.formats.ros.standard import standard_definition

    text = standard_definition(type_name, ros2=True)
    return None if text is None else text.split(_SEPARATOR)[0]


def needed_types(text: str, package: str) -> list[str]:
    """The types of a definition's fields that are messages themselves, as ``pkg/msg/Name``."""
    needed = []
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if len(words) < 2 or "=" in words[1] or (len(words) > 2 and words[2].startswith("=")):
            continue
        name = _BOUND.sub("", words[0])
        if name in _PRIMITIVES or name in ("time", "duration"):
            continue
        parts = name.split("/")
        if name == "Header":
            parts = ["std_msgs", "Header"]
        owner = parts[0] if len(parts) > 1 else package
        needed.append(f"{owner}/msg/{parts[-1]}")
    return needed
