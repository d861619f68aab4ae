"""The `twinloop` command."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from twinloop import __version__
from twinloop.core.errors import TwinloopError

#: Modules of twinloop.cli, in the order of the help page; each has `register(app)`.
VERBS: tuple[str, ...] = ("formats", "info", "check", "rules", "explain")

app = typer.Typer(
    name="twinloop",
    help="Recordings of robots and people in, training data that can be trusted out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


for _verb in VERBS:
    import_module(f"twinloop.cli.{_verb}").register(app)


def main() -> None:
    """Run the command; errors for users go to stderr without a traceback, with their exit code."""
    try:
        app()
    except TwinloopError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
