"""Edits of episodes: outcome, instruction, exclusion. Journal entries over what the manifest says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.core.session import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from twinloop.core.session import Episode
    from twinloop.store.journal import Entry

EPISODE = "episode"


def edit_data(
    *,
    outcome: Outcome | None = None,
    instruction: str | None = None,
    exclude: str | None = None,
    include: bool = False,
) -> dict[str, object]:
    """The data of a journal entry of kind `EPISODE`. `exclude` is the reason; `include` lifts it."""
    data: dict[str, object] = {}
    if outcome is not None:
        data["outcome"] = outcome.value
    if instruction is not None:
        data["instruction"] = instruction
    if exclude is not None or include:
        data["excluded"] = exclude
    return data


def apply_edits(episode: Episode, entries: Iterable[Entry]) -> Episode:
    """The episode after the holding entries that are about it, in order."""
    for entry in entries:
        if entry.kind == EPISODE and entry.target == episode.id:
            episode = _apply(episode, entry.data)
    return episode


def _apply(episode: Episode, data: Mapping[str, object]) -> Episode:
    if "outcome" in data:
        episode = replace(episode, outcome=Outcome(str(data["outcome"])))
    if "instruction" in data:
        episode = replace(episode, instruction=str(data["instruction"]))
    if "excluded" in data:
        reason = data["excluded"]
        episode = replace(episode, excluded=None if reason is None else str(reason))
    return episode
