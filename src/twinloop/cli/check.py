"""`twinloop check`: what the rules say of a recording or a stored session."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from twinloop.cli.options import is_path, progress, read_options, stored_session

if TYPE_CHECKING:
    from twinloop.checks.profile import Profile
    from twinloop.core.finding import CheckReport, Severity


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(check)


def check(
    what: Annotated[str, typer.Argument(metavar="PATH|ID", help="A recording, or a session of the store.")],
    format: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    fail_on: Annotated[
        str,
        typer.Option("--fail-on", help="Exit with 1 at this severity or worse: error, warning, info, never."),
    ] = "error",
    select: Annotated[
        list[str] | None,
        typer.Option("--select", help="Codes, names or families: TIM004, gap, TIM. Repeatable."),
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", help="Rules to leave out, likewise.")] = None,
    profile: Annotated[
        str, typer.Option("--profile", help="default, strict, or a TOML file of limits.")
    ] = "default",
    mapping: Annotated[
        Path | None, typer.Option("--mapping", help="What is state and action; default: proposed.")
    ] = None,
    types: Annotated[
        Path | None, typer.Option("--types", help="Folder of message definitions, for bags without them.")
    ] = None,
    store: Annotated[
        str | None, typer.Option("--store", metavar="DIR|URL", help="The store that a session's ID is of.")
    ] = None,
    all: Annotated[
        bool, typer.Option("--all", help="List every place, not the first five of each rule.")
    ] = False,
) -> None:
    """Find what is wrong with a recording, and where.

    Exit codes: 0 nothing at or above --fail-on; 1 something; 2 usage; 3 unreadable; 4 a rule crashed.
    """
    from twinloop.checks.profile import load_profile
    from twinloop.core.errors import UnknownNameError

    form = "json" if json else format
    for kind, word, known in (
        ("format", form, ["text", "json"]),
        ("severity", fail_on, ["error", "warning", "info", "never"]),
    ):
        if word not in known:
            raise UnknownNameError(kind, word, known)
    limits = load_profile(profile)
    report = _run(what, mapping, types, store, _words(select), _words(ignore) or [], limits)
    _show(report, form, all)
    if report.failed:
        raise typer.Exit(4)
    if fail_on != "never" and report.at_least(_severity(fail_on)):
        raise typer.Exit(1)


def _run(
    what: str,
    mapping: Path | None,
    types: Path | None,
    store: str | None,
    select: list[str] | None,
    ignore: list[str],
    profile: Profile,
) -> CheckReport:
    """Check a path if there is one of this name, else a session of the store."""
    from twinloop.checks.run import check as check_recording
    from twinloop.formats.reader import open_recording

    options = read_options(types, mapping)
    given = options.mapping
    if is_path(what):
        with open_recording(what, options) as recording, progress("checking") as advance:
            return check_recording(
                recording, mapping=given, select=select, ignore=ignore, profile=profile, progress=advance
            )
    with stored_session(what, store) as stored, progress("checking") as advance:
        return check_recording(
            stored,
            mapping=given or stored.mapping,
            episodes=stored.session.episodes,
            session=stored.session.id,
            clock_models=stored.session.clock_models,
            select=select,
            ignore=ignore,
            profile=profile,
            progress=advance,
        )


def _show(report: CheckReport, form: str, all: bool) -> None:
    following = f"next: {_next(report)}"
    if form == "json":
        from twinloop.checks.render.json import render_json

        typer.echo(render_json(report))
        typer.echo(following, err=True)
        return
    from rich.console import Console

    from twinloop.checks.render.text import LISTED, print_report

    console = Console()
    print_report(report, console, listed=None if all else LISTED)
    console.print(following, style="dim", markup=False, highlight=False, soft_wrap=True)


def _next(report: CheckReport) -> str:
    if report.findings and report.findings[0].severity.value != "info":
        return f"twinloop explain {report.findings[0].code}"
    if report.session:
        return f"twinloop report {report.session} -o report.html"
    return f"twinloop ingest {quote(report.path)}"


def _words(given: list[str] | None) -> list[str] | None:
    """Options that may be repeated or hold several words with commas between."""
    return [word for part in given for word in part.split(",") if word] if given else None


def _severity(word: str) -> Severity:
    from twinloop.core.finding import Severity

    return Severity(word)
