"""`twinloop report`: what is in a recording or session, and what is wrong with it, as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twinloop.cli.options import (
    StoreOption,
    is_path,
    megabytes,
    progress,
    read_options,
    say_next,
    stored_session,
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("report")(report)


def report(
    what: Annotated[str, typer.Argument(metavar="PATH|ID", help="A recording, or a session of the store.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page.")] = Path("report.html"),
    mapping: Annotated[
        Path | None, typer.Option("--mapping", help="What is state and action; default: proposed.")
    ] = None,
    types: Annotated[
        Path | None, typer.Option("--types", help="Folder of message definitions, for bags without them.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write one self-contained page: timeline with gaps, findings, cameras, joints, intervals."""
    from twinloop.core.errors import UsageError

    page = _of_path(Path(what), mapping, types) if is_path(what) else _of_session(what, store)
    written = page.encode("utf-8", "replace")  # names of files need not be UTF-8
    try:
        out.write_bytes(written)
    except OSError as error:
        raise UsageError(f"the page cannot be written: {error.strerror}", where=str(out)) from error
    typer.echo(f"{out}: {megabytes(len(written))}")
    say_next(f"open {out} in a browser")


def _of_path(path: Path, mapping_file: Path | None, types: Path | None) -> str:
    from twinloop.checks.render.html import render_html
    from twinloop.checks.run import check
    from twinloop.core.errors import MappingError
    from twinloop.core.mapping import Mapping
    from twinloop.formats.mapping.episodes import cut_episodes
    from twinloop.formats.mapping.propose import propose
    from twinloop.formats.reader import open_recording
    from twinloop.store.commit import make_episodes

    options = read_options(types, mapping_file)
    with open_recording(path, options) as recording, progress("checking") as advance:
        mapping = options.mapping or propose(recording)
        try:
            spans = cut_episodes(recording, mapping)
        except MappingError:
            if options.mapping:
                raise
            mapping, spans = Mapping(), list(recording.episodes)  # a proposal that does not work out
        episodes = make_episodes(spans, "", None)
        found = check(recording, mapping=mapping, episodes=episodes, progress=advance)
        return render_html(recording, found, mapping=mapping, episodes=episodes)


def _of_session(id: str, store: str | None) -> str:
    from twinloop.checks.render.html import render_html

    with stored_session(id, store) as stored:
        return render_html(
            stored,
            stored.report,
            mapping=stored.mapping,
            episodes=stored.session.episodes,
            clock_models=stored.session.clock_models,
            title=", ".join(recording.name for recording in stored.manifest.recordings),
        )
