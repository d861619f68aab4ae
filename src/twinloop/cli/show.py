"""`twinloop show`: all that the store knows of a session or an episode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from twinloop.cli.options import (
    FormatOption,
    JsonOption,
    StoreOption,
    console,
    megabytes,
    plain_table,
    print_json,
    say_next,
    short,
    wants_json,
)

if TYPE_CHECKING:
    from twinloop.core.session import Episode
    from twinloop.store.stored import StoredSession


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("show")(show)


def show(
    id: Annotated[str, typer.Argument(help="A session, or an episode as SESSION/NUMBER.")],
    store: StoreOption = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Show a session: where it comes from, streams, episodes, features, findings."""
    from twinloop.store.queries import list_episodes, resolve_episode
    from twinloop.store.store import Store

    as_json = wants_json(format, json)
    opened = Store.find(store)
    number = None
    if "/" in id:
        (row,) = list_episodes(opened.catalog, ids=[resolve_episode(opened.catalog, id)])
        id, number = row.session, row.number
    with opened.session(id) as session:
        if as_json:
            print_json(_facts(session))
        else:
            _print(session, number)
        say_next(f"twinloop report {short(session.session.id)} -o report.html", as_json=as_json, store=store)


def _facts(session: StoredSession) -> dict[str, Any]:
    import msgspec

    return {
        "session": session.session,
        "streams": [msgspec.to_builtins(stream) for stream in session.streams.values()],
        "mapping": session.mapping,
        "recordings": [
            {
                "hash": r.hash,
                "name": r.name,
                "format": r.format,
                "files": r.files,
                "raw": r.raw,
                "notes": r.notes,
            }
            for r in session.manifest.recordings
        ],
        "report": session.report.to_json(),
    }


def _print(session: StoredSession, number: int | None) -> None:
    out = console()
    manifest, facts = session.manifest, session.session.facts
    out.print(f"session {session.session.id}, revision {manifest.revision} ({manifest.why})", markup=False)
    stated = {name: getattr(facts, name) for name in ("task", "operator", "site", "robot", "rig", "consent")}
    said = [f"{name} {value}" for name, value in {**stated, **facts.meta}.items() if value]
    out.print(", ".join(said) or "no facts stated (task, operator, robot...)", markup=False)
    for recording in manifest.recordings:
        out.print(
            f"recording {recording.hash[:12]}  {recording.name}, {recording.format}, "
            f"{megabytes(recording.size)}, kept by {recording.raw}, "
            f"taken in {recording.taken_at} by {recording.by}, mapping: {recording.mapping_source}",
            markup=False,
        )
    out.print()
    out.print(_streams(session))
    out.print()
    out.print(_episodes(session.session.episodes, number))
    out.print()
    report = session.report
    for finding in sorted(report.findings, key=lambda f: -f.severity.rank):
        if number is None or finding.episode in (None, number):
            at = "" if finding.start_s is None else f" at {finding.start_s:.3f} s"
            episode = "" if finding.episode is None else f" episode {finding.episode}"
            place = f"{finding.code}{episode} {finding.stream or ''}{at}"
            out.print(f"{finding.severity.value:<7} {place}: {finding.message}", markup=False)
    if not report.findings:
        out.print("nothing was found wrong")


def _streams(session: StoredSession) -> Any:
    features = {feature.stream: feature.name for feature in session.mapping.features}
    table = plain_table("stream", "kind", ">samples", ">Hz", "stamp", "feature")
    for name, stream in session.streams.items():
        rate = stream.measured_rate_hz
        table.add_row(
            name,
            stream.kind.value,
            "" if stream.count is None else f"{stream.count:,}",
            "" if rate is None else f"{rate:.2f}",
            stream.stamp_source.value,
            features.get(name, ""),
        )
    return table


def _episodes(episodes: tuple[Episode, ...], number: int | None) -> Any:
    table = plain_table(">episode", ">length", "outcome", "instruction", "excluded")
    for episode in episodes:
        if number is None or episode.index == number:
            table.add_row(
                str(episode.index),
                f"{episode.duration_s:.2f} s",
                episode.outcome.value,
                episode.instruction or "",
                episode.excluded or "",
            )
    return table
