"""HTML and SVG in strings. Everything that comes from a recording is escaped here."""

from __future__ import annotations

from html import escape


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element. Attribute names lose a trailing ``_`` and turn other ``_`` to ``-``; None leaves one out.

    Children are markup; use `text` for text.
    """
    stated = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{stated}>{''.join(children)}</{name}>"


def text(content: object) -> str:
    """Text as markup."""
    return escape(str(content))


def svg(width: float, height: float, *children: str, **attributes: object) -> str:
    """A drawing that scales with the page."""
    return tag("svg", *children, viewBox=f"0 0 {_value(width)} {_value(height)}", role="img", **attributes)


def title(content: object) -> str:
    """What a browser shows on hovering over the element around it."""
    return tag("title", text(content))


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
