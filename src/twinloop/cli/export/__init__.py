"""`twinloop export FORMAT`: episodes of the store as datasets that trainers load, sessions as MCAP."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

#: Modules of this package, in the order of the help page; each has `register(group)`.
COMMANDS: tuple[str, ...] = ("lerobot", "rlds", "robomimic", "aloha", "zarr", "webdataset", "mcap")


class _WithPlugins(TyperGroup):
    """The built-in formats, and those that plug-ins bring (entry points `twinloop.exports`).

    Contexts and commands are click's, of which typer has its own copy from some release on.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        from twinloop.deliver.exporter import EXPORTS

        known = super().list_commands(ctx)
        return [*known, *(name for name in EXPORTS.names() if name not in known)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        if known is not None:
            return known
        from twinloop.cli.export.plugin import plugin_command
        from twinloop.deliver.exporter import EXPORTS

        return plugin_command(cmd_name) if cmd_name in EXPORTS.names() else None


def register(app: typer.Typer) -> None:
    """Add the verb."""
    group = typer.Typer(help="Write datasets that trainers load.", no_args_is_help=True, cls=_WithPlugins)
    for name in COMMANDS:
        import_module(f"twinloop.cli.export.{name}").register(group)
    app.add_typer(group, name="export")
