"""One self-contained page about a recording: what is wrong, where, and everything to look at."""

from twinloop.checks.render.html.page import render_html

__all__ = ["render_html"]
