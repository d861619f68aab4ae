"""`twinloop rules`: all rules there are."""

from __future__ import annotations

from typing import Annotated

import typer

#: Columns of a table that goes to a file or a pipe, where there is no terminal to fit.
PIPED_WIDTH = 160


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("rules")(rules)


def rules(
    format: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
) -> None:
    """List the rules: codes, names, severities, what each finds."""
    from twinloop.checks.catalog import all_rules
    from twinloop.checks.rule import limit_names
    from twinloop.core.errors import UnknownNameError

    form = "json" if json else format
    if form not in ("text", "json"):
        raise UnknownNameError("format", form, ["text", "json"])
    catalog = all_rules().values()
    if form == "json":
        from json import dumps

        listed = [
            {
                "code": rule.code,
                "name": rule.name,
                "severity": rule.severity.value,
                "scope": rule.scope.value,
                "needs": [need.value for need in rule.needs],
                "since": rule.since,
                "limits": limit_names(rule.limits),
                "summary": rule.documentation.summary,
            }
            for rule in catalog
        ]
        typer.echo(dumps({"schema": 1, "rules": listed}, indent=2))
        typer.echo("next: twinloop explain CODE", err=True)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("code", "name", "severity", "what it finds", box=None, padding=(0, 2, 0, 0))
    for rule in catalog:
        table.add_row(rule.code, rule.name, rule.severity.value, rule.documentation.summary)
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(table, highlight=False)
    typer.echo("next: twinloop explain CODE")
