"""`twinloop explain`: the whole story of one rule."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("explain")(explain)


def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="A rule's code or name: TIM004, gap.")],
) -> None:
    """Say what a rule finds, why it matters, how it is measured, and what to do."""
    from rich.console import Console
    from rich.markdown import Markdown

    from twinloop.checks.catalog import find_rule
    from twinloop.checks.docs import rule_page

    rule = find_rule(code)
    Console().print(Markdown(rule_page(rule)))
    typer.echo(f"next: twinloop check PATH --select {rule.code}")
