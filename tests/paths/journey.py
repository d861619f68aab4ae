"""One session on its way: in from a format, through a store, out to a format, read back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from twinloop.core.mapping import dump_mapping
from twinloop.core.session import Outcome, SessionFacts
from twinloop.deliver.align import latest_at
from twinloop.deliver.exporter import EXPORTS
from twinloop.deliver.options import RowOptions
from twinloop.deliver.plan import RowPlanner
from twinloop.deliver.rows import CameraClock
from twinloop.deliver.source import ExportSource
from twinloop.deliver.stored import stored_sources
from twinloop.formats.mapping.feature import read_feature
from twinloop.formats.mapping.propose import propose
from twinloop.formats.reader import open_recording
from twinloop.store.ingest import ingest
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

CLOCK = CameraClock("scene")
NUMBERS = ("observation.state", "action")
SCENE = "observation.images.scene"
FACTS = SessionFacts(task="pick-cube", operator="ada", consent="C-7")

#: Formats by the name of their exporter, and what their files are called.
FILES = {
    "mcap": "session.mcap",
    "lerobot": "lerobot",
    "lerobot v2.1": "lerobot-v21",
    "rlds": "rlds",
    "robomimic": "demos.hdf5",
    "aloha": "aloha",
    "zarr": "buffer.zarr",
    "webdataset": "shards",
}
INTO = tuple(name for name in FILES if name != "webdataset")  # nothing reads that back into a store
OUT = tuple(FILES)


@dataclass(frozen=True)
class Truth:
    """What was recorded, by row of the scene camera: times (R,), numbers (R, D), JPEGs."""

    times_ns: NDArray[np.int64]
    numbers: dict[str, NDArray[np.float64]]
    jpegs: list[bytes]
    instructions: list[str]
    lengths: list[int]


class Workshop:
    """A synthetic session below `folder`, and what is made of it; each store is made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stores: dict[str, Store] = {}

    @cached_property
    def recording(self) -> Path:
        """The session as it was recorded: MCAP."""
        path = self.folder / "recorded.mcap"
        cameras = (CameraSpec("scene", 10.0, 64, 48),)
        record_session(path, SessionSpec(seed=4, duration_s=4.0, episodes=2, cameras=cameras))
        return path

    @cached_property
    def mapping(self) -> Path:
        """What its streams mean, units of the joints among it."""
        path = self.folder / "meaning.toml"
        with open_recording(self.recording) as recording:
            proposed = propose(recording)
        features = tuple(replace(f, unit="rad") if f.name in NUMBERS else f for f in proposed.features)
        path.write_text(dump_mapping(replace(proposed, features=features)))
        return path

    def store(self, into: str) -> Store:
        """A store into which the session came in a format."""
        if into not in self._stores:
            store = Store.create(self.folder / f"store-{into.replace(' ', '-')}")
            if into == "mcap":
                options = IngestOptions(FACTS, Outcome.SUCCESS, mapping=self.mapping)
                taken = [ingest(store, self.recording, options)]
            else:
                taken = [ingest(store, self.write("mcap", into), IngestOptions())]
            assert all(outcome.session for outcome in taken), taken
            self._stores[into] = store
        return self._stores[into]

    def sources(self, into: str) -> list[ExportSource]:
        """The sessions of the store into which it came in a format."""
        return stored_sources(self.store(into))

    def write(self, into: str, out: str) -> Path:
        """The files of a format, written from the store into which the session came in another."""
        path = self.folder / f"{into.replace(' ', '-')}-to-{FILES[out]}"
        if path.exists():
            return path
        sources = self.sources(into)
        if out == "mcap":
            from twinloop.deliver.mcap.export import export_mcap

            path.mkdir()
            for number, source in enumerate(sources):
                export_mcap(source, path / f"{number}.mcap")
            return path
        if out == "lerobot v2.1":
            from twinloop.deliver.lerobot.export import export_lerobot
            from twinloop.deliver.lerobot.options import ExportOptions

            export_lerobot(sources, path, ExportOptions(CLOCK, version="v2.1"))
        else:
            EXPORTS.get(out).export(sources, path, RowOptions(CLOCK))
        return path

    @cached_property
    def truth(self) -> Truth:
        """What every path is held against: the session as it came in from its recording, row by row."""
        (source,) = self.sources("mcap")
        planner = RowPlanner(source, RowOptions(CLOCK))
        plans = [plan for plan in planner.plan(10) if hasattr(plan, "span")]
        times = np.concatenate([plan.span.row_ns for plan in plans])
        numbers = {}
        for name in NUMBERS:
            feature = next(item for item in source.features() if item.name == name)
            samples = read_feature(source.recording, feature)
            numbers[name] = samples.values[latest_at(samples.times_ns, times)]
        recorded = {
            int(stamp): bytes(image)
            for batch in _scene_batches(self.recording)
            for stamp, image in zip(batch.times("stamp_ns"), batch.payload, strict=True)
        }
        return Truth(
            times,
            numbers,
            [recorded[int(time)] for time in times],
            [plan.task for plan in plans],
            [len(plan) for plan in plans],
        )


def _scene_batches(path: Path):
    with open_recording(path) as recording:
        yield from recording.scan(["/scene/image/compressed"])
