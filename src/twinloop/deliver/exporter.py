"""The protocol of exporters and their registry: built-ins and plug-ins take the same road."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from twinloop.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from twinloop.deliver.account import Account
    from twinloop.deliver.job import Progress
    from twinloop.deliver.options import RowOptions
    from twinloop.deliver.source import ExportSource


class Writable(Protocol):
    """What `twinloop formats` tells of a format that can be written.

    Attributes:
        name: what `twinloop export` calls it, also the entry point's. title: what users call it.
        keeps, loses: one sentence each.
        extra: the extra of twinloop that brings its dependencies; None for the base install.
    """

    name: str
    title: str
    keeps: str
    loses: str
    extra: str | None


class Exporter(Writable, Protocol):
    """One format of rows to write. Its module imports nothing heavy; `export` imports what it needs."""

    def export(
        self,
        sources: Sequence[ExportSource],
        out: Path | None,
        options: RowOptions,
        *,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Account:
        """Write the episodes of `sources` at `out`, and return the account; `out` None: only the account.

        `out` is there whole or not at all.

        Raises:
            UsageError: `out` exists (without `force`), the sessions do not make one dataset, or the format
                cannot hold them.
            MissingExtraError: a dependency of this format is not installed.
        """


EXPORTS: Registry[Exporter] = Registry("twinloop.exports", "format to write")


def writable() -> list[tuple[str, Writable]]:
    """All that can be written, by name: the formats of rows, and MCAP, which holds samples instead."""
    from twinloop.deliver.exporters import MCAP

    return sorted([*EXPORTS, (MCAP.name, MCAP)], key=lambda named: named[0])
