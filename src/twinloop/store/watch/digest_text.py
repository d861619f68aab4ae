"""A digest as Markdown: what is written beside its JSON, and what the terminal shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twinloop.store.watch.costs import Cost
    from twinloop.store.watch.digest import Digest
    from twinloop.store.watch.usable import Hours

_MOST_SHOWN = 10


def digest_text(digest: Digest) -> str:
    """The digest, for people."""
    return "\n".join(_lines(digest)) + "\n"


def _lines(digest: Digest) -> Iterator[str]:
    arrivals = digest.arrivals
    yield f"# {digest.date} ({digest.time_zone})"
    yield ""
    yield (
        f"{digest.recordings} recordings taken in ({_size(digest.bytes)}), "
        f"{_h(digest.recorded_h)} recorded, {digest.episodes} episodes."
    )
    yield (
        f"**{_h(digest.usable_h)} usable** in {digest.usable_episodes} episodes"
        f"{_share(digest.usable_h, digest.episode_h)}. {_cost(digest.cost)}"
    )
    yield ""
    yield (
        f"Arrived {arrivals.arrived}: {arrivals.stored} stored, {arrivals.present} the store had already, "
        f"{arrivals.quarantined} in quarantine, {arrivals.refused} refused, "
        f"{arrivals.given_up} given up, {arrivals.open} still on their way."
    )
    if digest.troubles:
        yield from ("", "## Not taken in, or not whole", "")
        for trouble in digest.troubles[:_MOST_SHOWN]:
            where = f" (quarantine/{trouble.quarantine})" if trouble.quarantine else ""
            yield f"- `{_code(trouble.name)}`: {trouble.why}{where}"
        if len(digest.troubles) > _MOST_SHOWN:
            yield f"- and {len(digest.troubles) - _MOST_SHOWN} more"
    if digest.findings:
        yield from (
            "",
            "## Findings",
            "",
            "| code | what | severity | findings | recordings |",
            "|---|---|---|--:|--:|",
        )
        for count in digest.findings[:_MOST_SHOWN]:
            yield f"| {count.code} | {count.name} | {count.severity} | {count.findings} | {count.recordings} |"
    yield from _table("Operators", digest.operators)
    yield from _table("Tasks", digest.tasks)
    if digest.next:
        yield from ("", "## Look at", "")
        yield from (f"- {line}" for line in digest.next)


def _table(title: str, rows: Sequence[Hours]) -> Iterator[str]:
    if not rows:
        return
    yield from ("", f"## {title}", "", "| | episodes | recorded | usable |", "|---|--:|--:|--:|")
    for row in rows:
        name = "not stated" if row.name is None else row.name.replace("|", "\\|")
        yield f"| {name} | {row.episodes} | {_h(row.hours)} | {_h(row.usable_h)} |"


def _cost(cost: Cost) -> str:
    missing = f"not stated: {', '.join(cost.not_stated)}"
    if cost.total is None:
        return f"Cost per usable hour: {missing} ([costs] in store.toml)."
    money = f" {cost.currency}" if cost.currency else ""
    per_hour = "no usable hour" if cost.per_usable_hour is None else f"{cost.per_usable_hour:.2f}{money}"
    besides = f"; {missing}" if cost.not_stated else ""
    return f"Cost per usable hour: {per_hour} (in all {cost.total:.2f}{money}{besides})."


def _h(hours: float) -> str:
    if hours >= 1:
        return f"{hours:.4g} h"
    return f"{hours * 60:.3g} min" if hours >= 1 / 60 else f"{hours * 3600:.3g} s"


def _size(size: int) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def _share(part: float, whole: float) -> str:
    return f" ({part / whole:.0%} of the episodes' time)" if whole else ""


def _code(text: str) -> str:
    return text.replace("`", "'")
