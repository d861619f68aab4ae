"""`twinloop export NAME` of a format that a plug-in brings: with the options that all formats have."""

from __future__ import annotations

from typing import Any

import typer

from twinloop.cli.export.command import Chosen, row_command


def plugin_command(name: str) -> Any:
    """The command of the exporter `name`, a click command."""
    from twinloop.deliver.exporter import EXPORTS

    exporter = EXPORTS.get(name)

    @row_command
    def command(rows: dict[str, Any]) -> Chosen:
        from twinloop.deliver.options import RowOptions

        return Chosen(exporter.export, RowOptions(**rows), "read {out}")

    app = typer.Typer(add_completion=False)
    app.command(name, help=f"Write {exporter.title}.")(command)
    return typer.main.get_command(app)
