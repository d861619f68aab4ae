"""The reader `rlds` passes the suite that plug-ins must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlds_files import episode, example, kitchen, write_rlds

from twinloop.core.kinds import Kind
from twinloop.formats.rlds.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {
    "observation.images.image": Kind.IMAGE,
    "observation.images.wrist": Kind.IMAGE,
    "observation.state": Kind.TABLE,
    "action": Kind.TABLE,
    "language_instruction": Kind.TEXT,
    "steps": Kind.TABLE,
}
STAMPED = frozenset({"stamp_ns"})


class TestRlds(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        streams = {name: ExpectedStream(kind, 25, STAMPED) for name, kind in KINDS.items()}
        return Sample(kitchen(folder / "1.0.0"), streams)

    def make_large_sample(self, folder: Path) -> Path:
        values = episode(0, 100)
        values["steps/observation/image"] = [bytes(50_000)] * 100
        record = example(values)
        return write_rlds(folder / "large", {"train": [[record] * 30, [record] * 30]})


class TestPackedRlds(ReaderConformance):
    reader = READER

    def make_sample(self, folder: Path) -> Sample:
        streams = {name: ExpectedStream(kind, 25, STAMPED) for name, kind in KINDS.items()}
        return Sample(kitchen(folder / "1.0.0", "gzip"), streams)
