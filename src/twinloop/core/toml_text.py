"""Values and comments as TOML text; the standard library only reads TOML."""

from __future__ import annotations

import json
import textwrap

_WIDTH = 110


def inline(value: object) -> str:
    """A string, number, truth value or sequence of these as a TOML value; long arrays take a line an element.

    Raises:
        TypeError: the value has no TOML form here.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple | list):
        items = [inline(item) for item in value]
        if sum(map(len, items)) + 2 * len(items) <= _WIDTH - 20:
            return f"[{', '.join(items)}]"
        return "[\n" + "".join(f"  {item},\n" for item in items) + "]"
    raise TypeError(f"no TOML form of {type(value).__name__}")


def comment(text: str, indent: str = "") -> list[str]:
    """`text` as comment lines of at most 110 characters where its words allow."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return [
        f"# {indent}{line}"
        for line in textwrap.wrap(words, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    ]
