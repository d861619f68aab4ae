"""Windows of failures pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failure_files import WINDOWS, write_windows

from twinloop.core.kinds import Kind
from twinloop.formats.robot_failures.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path


class TestRobotFailures(ReaderConformance):
    reader = READER
    says_what_is_lost = False  # a file that is cut between two windows is whole

    def make_sample(self, folder: Path) -> Sample:
        stamped = frozenset({"stamp_ns"})
        return Sample(
            write_windows(folder / "lp1.data"),
            {
                "force_torque": ExpectedStream(Kind.WRENCH, 15 * WINDOWS, stamped),
                "failure": ExpectedStream(Kind.LABEL, WINDOWS, stamped),
            },
        )
