"""Raw files in the blobs: each is what its name says, and something knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.store.fsck.trouble import COLLECT, MEND, Harm, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.fsck.trouble import Examination


def raw_files(examination: Examination) -> Iterator[Trouble]:
    """Blobs that changed, and blobs that nothing names. Comes after all that may name one."""
    for key, _ in examination.store.objects.listing("blobs"):
        sha256 = key.rpartition("/")[2]
        if sha256 in examination.erased and sha256 not in examination.wanted:
            continue  # `erasures` speaks of it
        if wrong := examination.differs(key, sha256):
            if sha256 in examination.wanted:
                yield Trouble(Harm.DAMAGE, key, wrong, f"{MEND}; add --from MIRROR if the original is gone")
            else:
                yield Trouble(Harm.DAMAGE, key, f"{wrong}; nothing knows it", MEND)
        elif sha256 not in examination.wanted:
            yield Trouble(Harm.LEFTOVER, key, "no session and no quarantine knows it", COLLECT)
