"""The MCAP format, as `twinloop formats` lists it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions

_MAGIC = b"\x89MCAP0\r\n"


class McapReader:
    """MCAP files: chunked or not, compressed or not, whole or cut off."""

    name = "mcap"
    title = "MCAP"
    keeps = (
        "every message of ROS 1, ROS 2, protobuf and JSON channels in columns, any other as bytes; log and "
        "publish times, sequence numbers, attachments, metadata, channel metadata"
    )
    loses = "the order of messages of different streams within some megabytes; attachments' time of creation"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """A file that starts with MCAP's magic bytes."""
        return head.startswith(_MAGIC)

    def open(self, path: Path, options: ReadOptions) -> Recording:
        """Open a file by its summary, or by walking it where it has none. One that twinloop wrote is as it was.

        Raises:
            UnreadableError: it is no MCAP file, or the system refuses to read it.
        """
        from twinloop.formats.mcap.recording import McapRecording
        from twinloop.formats.mcap.written.facts import read_facts
        from twinloop.formats.mcap.written.recording import WrittenRecording

        recording = McapRecording(path, options)
        if facts := read_facts(recording.metadata):
            return WrittenRecording(recording, *facts)
        return recording


READER = McapReader()
