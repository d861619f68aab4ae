"""The reader `mps`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions

#: Words that the headers of all known tables with times begin with.
_HEADERS = (b"tracking_timestamp_us,", b"graph_uid,tracking_timestamp_us,", b"uid,graph_uid,px_world,")


class MpsReader:
    """Results of Aria's machine perception services without the VRS file; or one table of them."""

    name = "mps"
    title = "Project Aria machine perception results (MPS)"
    keeps = "gaze, trajectories, hands, map points and calibration over time, on the device's clock"
    loses = "cells that are no numbers, rows of another length: noted with their row"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """The header of a known table; a folder of them without a VRS file."""
        from twinloop.formats.mps.find import holds_results, is_table

        if head:
            return head.startswith(_HEADERS) and is_table(path)
        return path.is_dir() and holds_results(path)

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002  (nothing to say)
        """Read the headers, the ends of the tables, and the summaries.

        Raises:
            UnreadableError: no table has rows.
        """
        from twinloop.formats.mps.recording import MpsRecording

        return MpsRecording(path)


READER = MpsReader()
