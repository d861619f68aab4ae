"""Tables of actions pass the suite of all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from action_files import ROWS, write_actions

from twinloop.core.kinds import Kind
from twinloop.formats.labels.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

STREAM = ExpectedStream(Kind.LABEL, ROWS // 2, frozenset({"stamp_ns"}))


class TestActionTables(ReaderConformance):
    reader = READER
    says_what_is_lost = False  # a table that is cut between two lines is whole

    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_actions(folder / "annotations"), {"P01_00": STREAM, "P01_01": STREAM})


class TestActionTable(ReaderConformance):
    reader = READER
    says_what_is_lost = False

    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_actions(folder) / "actions.csv", {"P01_00": STREAM, "P01_01": STREAM})
