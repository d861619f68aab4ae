"""What `fsck` finds, and what it carries from one part of a store to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError
from twinloop.store.losses import lost_documents
from twinloop.store.tombstones import erased_hashes

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinloop.store.fsck.memory import Memory
    from twinloop.store.store import Store


class Harm(StrEnum):
    """What a problem means."""

    DAMAGE = "damage"  # bytes that were there are gone or changed, or erased ones are still there
    LEFTOVER = "leftover"  # of a command that did not finish; nothing is lost
    STALE = "stale"  # a cache that can be made anew


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is not as it must be: where, what, and what to do.

    `session` and `recording` say what an artefact or raw file belongs to.
    """

    harm: Harm
    key: str
    what: str
    fix: str
    session: str = ""
    recording: str = ""


MEND = "twinloop store fsck --repair"
FROM_MIRROR = f"{MEND} --from MIRROR"
REBUILD = "twinloop store rebuild"
COLLECT = "harmless; `twinloop store gc` takes it away"
RESUME = "twinloop erase --resume"


@dataclass
class Examination:
    """One look at a store.

    Attributes:
        quick: sizes and presence only. progress: gets the key of what is read.
        wanted: SHA-256 of the raw files that something names. lent: artefacts in one session's folder that
            another's manifest names (after a split). episodes: ids that manifests name.
        memory: what the catalog knew before it was opened.
        unread: whether a manifest or a reason that may name more could not be read.
    """

    store: Store
    quick: bool
    progress: Callable[[str], None]
    memory: Memory
    wanted: set[str] = field(default_factory=set)
    lent: set[str] = field(default_factory=set)
    episodes: set[str] = field(default_factory=set)
    unread: bool = False

    @cached_property
    def erased(self) -> frozenset[str]:
        """The hashes and ids that were erased."""
        return erased_hashes(self.store.objects)

    @cached_property
    def lost(self) -> frozenset[str]:
        """The keys of documents that are known to be lost."""
        return lost_documents(self.store.objects)

    def differs(self, key: str, sha256: str) -> str | None:
        """What is wrong with the content of `key`, or None."""
        if self.quick:
            return None
        self.progress(key)
        try:
            same = self.store.objects.digest(key) == sha256
        except TwinloopError as error:
            return error.what
        return None if same else "its content changed (SHA-256 differs)"
