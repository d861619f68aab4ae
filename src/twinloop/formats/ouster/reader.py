"""The reader `ouster`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class OusterReader:
    """A network capture of one or more Ouster lidars, with their metadata files beside it."""

    name = "ouster"
    title = "Ouster packets in a network capture (pcap, pcapng)"
    keeps = (
        "every return as an organised cloud with each point's time, motion, sentences and zones; both clocks"
    )
    loses = "packets of other makes and of sensors without metadata: counted in a note"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:  # noqa: ARG002  (the bytes tell)
        """A network capture; whose packets it holds is said on opening."""
        from twinloop.formats.ouster.capture import is_capture

        return is_capture(head)

    def open(self, path: Path, options: ReadOptions) -> Recording:
        """Read the first packets, and the metadata files beside the capture; go through a small one to count.

        Raises:
            UnreadableError: no metadata describes its packets; the message says what they look like.
        """
        from twinloop.formats.ouster.recording import OusterRecording

        return OusterRecording(path, verify=options.verify)


READER = OusterReader()
