"""`twinloop digest`: one day of the store."""

from __future__ import annotations

from datetime import date as Date
from typing import Annotated

import typer

from twinloop.cli.options import FormatOption, JsonOption, StoreOption, print_json, say_next, wants_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("digest")(digest)


def digest(
    store: StoreOption = None,
    date: Annotated[
        str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="Default: today, as far as it is over.")
    ] = None,
    format: FormatOption = "text",
    json: JsonOption = False,
) -> None:
    """Tell what a day brought: files, hours recorded and usable, cost per usable hour, what to look at."""
    from twinloop.store.store import Store
    from twinloop.store.watch.diary import Diary, last_digest
    from twinloop.store.watch.digest import make_digest
    from twinloop.store.watch.digest_text import digest_text

    as_json = wants_json(format, json)
    opened = Store.find(store)
    today = Diary(opened).today
    day = _day(date) if date else today
    _, written = last_digest(opened.objects, day) if day < today else (0, None)
    found = written or make_digest(opened, day)
    if as_json:
        print_json(found)
    else:
        typer.echo(digest_text(found), nl=False)
    say_next("twinloop ls", as_json=as_json, store=store)


def _day(text: str) -> Date:
    from twinloop.core.errors import UsageError

    try:
        return Date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no date", expected="YYYY-MM-DD") from None
