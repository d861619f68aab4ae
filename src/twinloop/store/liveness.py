"""Which sessions count: two manifests must agree before a session is merged away or split off.

A join is first an intent in the absorbed session (`merged_into`) and done when the other one's manifest
lists it (`absorbed`). A split is first the new session's manifest (`split_from`) and done when the old one
lists it (`split_into`). A crash between the two leaves the old state in force, and nothing counted twice.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinloop.store.manifest import Manifest


class State(StrEnum):
    """Whether a session counts."""

    LIVE = "live"
    MERGED = "merged"  # its recordings are another session's now
    PENDING = "pending"  # split off by a command that did not finish
    ERASED = "erased"  # nothing is left of it but its id


def session_state(manifest: Manifest, latest: Callable[[str], Manifest | None]) -> State:
    """The state of the session whose last manifest is given; `latest` gives other sessions' last manifests."""
    if manifest.erased:
        return State.ERASED
    if manifest.merged_into:
        other = latest(manifest.merged_into)
        if other and manifest.session in other.absorbed:
            return State.MERGED
    if manifest.split_from:
        other = latest(manifest.split_from)
        if not other or manifest.session not in other.split_into:
            return State.PENDING
    return State.LIVE


def related(manifest: Manifest) -> set[str]:
    """The sessions whose state may depend on this manifest."""
    named = {manifest.merged_into, manifest.split_from, *manifest.absorbed, *manifest.split_into}
    return {session for session in named if session}
