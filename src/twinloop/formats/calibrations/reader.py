"""The reader `calibration`: a calibration file by itself, a recording without streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import Where
from twinloop.core.recording import Problem
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class CalibrationReader:
    """Calibration files: see the package's page for the dialects."""

    name = "calibration"
    title = "Calibration (caliscope, Qualisys, Kalibr, OpenCV)"
    keeps = "intrinsics, distortion, poses, noise, errors and what else the file says; no streams"
    loses = "nothing"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Text with the keys that a calibration tool writes."""
        from twinloop.formats.calibrations.file import dialect_of

        return bool(head) and dialect_of(head) is not None

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Parse the file.

        Raises:
            UnreadableError: it is no calibration, does not parse, or holds nothing that can be read.
        """
        from twinloop.core.calibration import encode_calibration
        from twinloop.formats.calibrations.file import read_calibration
        from twinloop.formats.gathered import GatheredRecording

        dialect, found = read_calibration(path)
        notes = Notes()
        for said in found.skipped:
            notes.add(Problem.BAD_VALUE, said, Where(file=str(path)))
        return GatheredRecording(
            path,
            self.name,
            files=(path,),
            sources=[],
            metadata={"dialect": dialect} | found.facts,
            calibration=encode_calibration(found.items),
            notes=notes,
        )


READER = CalibrationReader()
