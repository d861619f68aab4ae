"""The folder of a ROS 2 bag as one recording, held against what its metadata declares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.core.errors import Where
from twinloop.core.recording import Problem, ReadNote
from twinloop.formats.bag.joined import JoinedRecording
from twinloop.formats.rosbag2.metadata import FILE_NAME, BagMetadata

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from twinloop.core.recording import Recording


class Rosbag2Recording(JoinedRecording):
    """All files of a bag, one after the other."""

    def __init__(
        self, path: Path, parts: Sequence[Recording], metadata: BagMetadata | None, notes: list[ReadNote]
    ) -> None:
        file = path / FILE_NAME
        super().__init__(
            path,
            "rosbag2",
            parts,
            extra_files=(file,) if file.is_file() else (),
            metadata=dict(metadata.texts) if metadata else {},
            notes=notes,
        )
        for topic, declared in metadata.counts.items() if metadata else ():
            self._take_count(topic, declared, file)

    def _take_count(self, topic: str, declared: int, file: Path) -> None:
        """Hold a declared count against the files', or take it where they cannot tell theirs."""
        stream = self.streams.get(topic)
        if stream is None:
            if declared:
                message = f"{declared} messages are declared of a topic that no file has"
                where = Where(file=str(file), stream=topic)
                self.notes.append(ReadNote(Problem.COUNT, message, where, declared))
        elif stream.count is None:
            self.streams[topic] = replace(stream, count=declared)
        elif stream.count != declared:
            message = f"metadata.yaml declares {declared} messages, the files hold {stream.count}"
            where = Where(file=str(file), stream=topic)
            self.notes.append(ReadNote(Problem.COUNT, message, where, max(0, declared - stream.count)))
