"""The `twinloop` command."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

from twinloop import __version__
from twinloop.core.errors import TwinloopError, UnreachableError

#: Modules of twinloop.cli, in the order of the help page; each has `register(app)`.
VERBS: tuple[str, ...] = (
    "init",
    "ingest",
    "watch",
    "push",
    "digest",
    "ls",
    "show",
    "session",
    "episode",
    "store",
    "mirror",
    "erase",
    "export",
    "formats",
    "info",
    "map",
    "check",
    "report",
    "rules",
    "explain",
    "demo",
)

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
    """Run the command; errors go to stderr without a traceback, with their exit code.

    What the system refuses ends with 3. Whatever else is not a `TwinloopError` is our bug and ends with 4.
    TWINLOOP_DEBUG=1 shows the traceback.
    """
    try:
        app()
    except (TwinloopError, UnreachableError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os._exit(0)  # whoever read the output has enough; Python would complain on closing it
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # typer made it a 1, which means findings
            os._exit(0)
        raise
    except OSError as error:
        if os.environ.get("TWINLOOP_DEBUG"):
            raise
        where = f"\n  where:    {error.filename}" if error.filename else ""
        typer.echo(f"error: the system refuses: {error.strerror or error}{where}", err=True)
        sys.exit(3)
    except Exception as error:
        if os.environ.get("TWINLOOP_DEBUG"):
            raise
        typer.echo(
            f"error: twinloop crashed: {type(error).__name__}: {error}\n"
            "  fix:      please report it with what TWINLOOP_DEBUG=1 prints",
            err=True,
        )
        sys.exit(4)
