"""A folder of results without the recording they were made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError
from twinloop.core.recording import Recording
from twinloop.formats.mps.parts import parts_in
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from twinloop.core.stream import Batch


class MpsRecording(Recording):
    """Each table is a stream."""

    def __init__(self, path: Path) -> None:
        self._parts = parts_in(path)
        if not self._parts.streams:
            raise UnreadableError(
                "no table of results can be read",
                where=str(path),
                expected="gaze, trajectories, hands, points or calibration as Aria's tools write them",
            )
        notes = Notes()
        super().__init__(
            path,
            "mps",
            files=self._parts.files,
            streams=self._parts.streams,
            metadata=self._parts.metadata,
            calibration=self._parts.calibration,
            notes=notes.all,
        )
        self._parts.hand_notes_to(notes)

    def scan(
        self,
        streams: Collection[str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
        payload: bool = True,  # noqa: ARG002  (tables have none)
    ) -> Iterator[Batch]:
        yield from self._parts.scan(self.check_names(streams), start_ns, end_ns)
