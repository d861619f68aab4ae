"""`twinloop ingest`: take recordings into the store."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinloop.cli.options import (
    FormatOption,
    JsonOption,
    StoreOption,
    console,
    megabytes,
    one_line,
    plain_table,
    print_json,
    say_next,
    short,
    wants_json,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.store.ingest import Outcome
    from twinloop.store.sources import IngestOptions
    from twinloop.store.store import Store


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("ingest")(ingest)


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Recordings, or folders of them.")],
    store: StoreOption = None,
    session: Annotated[
        str | None, typer.Option("--session", help="The session that they join; default: a new one each.")
    ] = None,
    task: Annotated[str | None, typer.Option("--task")] = None,
    operator: Annotated[str | None, typer.Option("--operator")] = None,
    site: Annotated[str | None, typer.Option("--site")] = None,
    robot: Annotated[str | None, typer.Option("--robot")] = None,
    rig: Annotated[str | None, typer.Option("--rig")] = None,
    consent: Annotated[str | None, typer.Option("--consent")] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", help="Of every episode: success, failure, aborted.")
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option("--mapping", help="Mapping file; default: one beside, or a proposal.")
    ] = None,
    types: Annotated[
        Path | None, typer.Option("--types", help="Folder of message definitions, for bags without them.")
    ] = None,
    raw: Annotated[str, typer.Option("--raw", help="copy, or reference (hash and place only).")] = "copy",
    images: Annotated[str, typer.Option("--images", help="Raw pictures: lossless, or h264.")] = "lossless",
    meta: Annotated[list[str] | None, typer.Option("--meta", metavar="K=V", help="Repeatable.")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes; default: one a core.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Take recordings in: kept verbatim, made into streams and video, checked. Whole or not at all.

    An interrupted command is finished by running it again. A `session.toml` beside a recording states the
    same facts as the options. Exit codes: 0 all stored; 2 usage; 3 something unreadable or in quarantine.
    """
    from twinloop.engine.workers import import_ahead

    if workers != 1 and (len(paths) > 1 or paths[0].is_dir()):
        import_ahead(["twinloop.store.warm"])  # while this process looks for the recordings

    from twinloop.core.session import SessionFacts
    from twinloop.store.queries import resolve_session
    from twinloop.store.sources import IngestOptions, check_paths, find_recordings, parse_outcome
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    opened = Store.find(store)
    if session:
        resolve_session(opened.catalog, session)  # so that a wrong id is said once, before anything is read
    options = IngestOptions(
        facts=SessionFacts(task, operator, site, robot, rig, consent, _meta(meta or [])),
        outcome=parse_outcome(outcome),
        session=session,
        mapping=mapping,
        types_dir=types,
        raw=raw,
        images=images,
    )
    check_paths(options)
    found = find_recordings(paths)
    if found.passed_over:
        some = ", ".join(path.name for path in found.passed_over[:3])
        more = ", ..." if len(found.passed_over) > 3 else ""
        typer.echo(
            f"passed over {_count(len(found.passed_over), 'file')} of no known format: {some}{more}", err=True
        )
    outcomes = _take_in(opened.url, found.recordings, options, dry_run, workers, as_json)
    if as_json:
        print_json(outcomes)
    else:
        _summarise(outcomes)
    say_next(_next(opened, outcomes, dry_run), as_json=as_json, store=store)
    if code := max((outcome.exit_code for outcome in outcomes), default=0):
        raise typer.Exit(code)


def _meta(pairs: Sequence[str]) -> dict[str, str]:
    from twinloop.core.errors import UsageError

    meta = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--meta {pair!r} says nothing", expected="--meta KEY=VALUE")
        meta[key] = value
    return meta


def _take_in(
    url: str,
    recordings: Sequence[Path],
    options: IngestOptions,
    dry_run: bool,
    workers: int | None,
    quiet: bool,
) -> list[Outcome]:
    """Outcomes in the order of the recordings, each told as it comes."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from twinloop.engine.local import Crash, run_all
    from twinloop.store.ingest import Outcome, Status, ingest_at

    out = Console(stderr=True, highlight=False, soft_wrap=True)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )
    outcomes: dict[int, Outcome] = {}
    with bars:
        whole = bars.add_task(f"taking in {len(recordings)}", total=len(recordings))
        rows: dict[int, object] = {}

        def watch(position: int, what: str, done: float) -> None:
            if position not in rows:
                rows[position] = bars.add_task("", total=1.0)
            bars.update(rows[position], completed=done, description=f"  {recordings[position].name}: {what}")  # type: ignore[arg-type]

        function = partial(ingest_at, url, options, dry_run)
        for position, result in run_all(function, recordings, workers=workers, watch=watch):
            if isinstance(result, Crash):
                message = f"{result.what}\n  fix:      run the same command again; nothing was half-made"
                result = Outcome(str(recordings[position]), Status.FAILED, message=message, exit_code=4)
            outcomes[position] = result
            if position in rows:
                bars.remove_task(rows.pop(position))  # type: ignore[arg-type]
            bars.advance(whole)
            if not quiet:
                out.print(_line(result), markup=False)
    return [outcomes[position] for position in sorted(outcomes)]


def _line(outcome: Outcome) -> str:
    said = f"{outcome.status.value:<11} {one_line(Path(outcome.path).name)}"
    if outcome.session:
        said += f"  session {short(outcome.session)}, {_count(outcome.episodes, 'episode')}"
    bad = [severity for severity in ("error", "warning") if outcome.findings.get(severity)]
    if bad:
        said += ": " + ", ".join(_count(outcome.findings[severity], severity) for severity in bad)
    for note in outcome.lost[:5]:
        said += f"\n  lost: {note.message} ({note.where})"
    if len(outcome.lost) > 5:
        said += f"\n  and {len(outcome.lost) - 5} more: quarantine/{outcome.quarantine}"
    if outcome.message:
        said += f"\n  {outcome.message}"
    for new in outcome.new:
        said += f"\n  new in the registry: {one_line(new)}"
    return said


def _summarise(outcomes: Sequence[Outcome]) -> None:
    folders = [str(Path(outcome.path).parent) for outcome in outcomes]
    above = os.path.commonpath(folders)
    table = plain_table(
        *("session", "folder", "recording", "format", ">size", ">streams", ">episodes", ">length"),
        *(">errors", ">warnings", "status"),
    )
    for outcome, folder in zip(outcomes, folders, strict=True):
        table.add_row(
            short(outcome.session) if outcome.session else "",
            os.path.relpath(folder, above) if folder != above else "",
            Path(outcome.path).name,
            outcome.format or "",
            megabytes(outcome.bytes),
            str(outcome.streams),
            str(outcome.episodes),
            "" if outcome.duration_s is None else f"{outcome.duration_s:.3f} s",
            str(outcome.findings.get("error", 0)),
            str(outcome.findings.get("warning", 0)),
            outcome.status.value + (" in part" if outcome.lost and outcome.session else ""),
        )
    console().print(table)


def _next(store: Store, outcomes: Sequence[Outcome], dry_run: bool) -> str:
    from twinloop.deliver.stored import stored_sources

    if dry_run:
        return "twinloop ingest PATH... without --dry-run"
    stored = [outcome for outcome in outcomes if outcome.session]
    if not stored:
        return "twinloop info PATH says what a file looks like"
    if any(outcome.findings.get("error") for outcome in stored):
        worst = max(stored, key=lambda outcome: outcome.findings.get("error", 0))
        return f"twinloop report {short(worst.session or '')} -o report.html"
    cameras = stored_sources(store, [stored[0].session or ""])[0].camera_features()
    return f"twinloop export {'lerobot' if cameras else 'mcap'} --out DIR"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
