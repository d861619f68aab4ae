"""The reader `mot`: a file of boxes of tracked things."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.gathered import TableInMemory
    from twinloop.formats.mot.rows import Rows
    from twinloop.formats.reader import ReadOptions


class MotReader:
    """MOT Challenge, UA-DETRAC and VATIC: see the package's page."""

    name = "mot"
    title = "Tracked boxes (MOT Challenge, UA-DETRAC, VATIC)"
    keeps = "every box with its frame, identity, score and attributes"
    loses = "ignored regions of UA-DETRAC; there are no times"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Rows of numbers that are boxes of frames, or the elements and words of the other two."""
        if not head:
            return False
        from twinloop.formats.mot.rows import form_of

        return form_of(head) is not None

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Read the boxes.

        Raises:
            UnreadableError: the file is none of the three, or holds no box.
        """
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.mot.rows import form_of, read_rows
        from twinloop.formats.reader import read_head

        form = form_of(read_head(path))
        if form is None:
            raise UnreadableError("the first lines are no tracked boxes", where=str(path))
        notes = Notes()
        rows = read_rows(path, form, notes)
        if not len(rows.frame):
            said = f": {notes.all[0].message}" if notes.all else ""
            raise UnreadableError(f"the file holds no box{said}", where=str(path))
        return GatheredRecording(
            path,
            self.name,
            files=(path,),
            sources=[_stream(rows, path.stat().st_size)],
            metadata={"form": rows.form} | rows.facts,
            notes=notes,
        )


def _stream(rows: Rows, size: int) -> TableInMemory:
    """The boxes as one stream; those of one frame that stand together are one message."""
    import numpy as np
    import pyarrow as pa

    from twinloop.core.kinds import Kind
    from twinloop.core.stream import Stream
    from twinloop.formats.boxes import detections
    from twinloop.formats.gathered import TableInMemory

    message = np.concatenate([[0], np.cumsum(np.diff(rows.frame) != 0)])
    stream = Stream(
        name="boxes",
        kind=Kind.DETECTIONS,
        count=int(message[-1]) + 1,
        timeline="stamp_ns",
        type_name=rows.form,
        encoding="text",
        bytes=size,
        attributes={"boxes": str(len(message)), "tracks": str(len({*rows.track} - {None}))},
    )
    columns = detections(
        message, rows.category, track=rows.track, score=rows.score, box=rows.box, data=rows.data
    )
    return TableInMemory(stream, {"seq": pa.array(rows.frame)} | columns)


READER = MotReader()
