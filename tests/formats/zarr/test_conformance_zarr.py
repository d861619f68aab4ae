"""The reader `zarr` passes the suite that plug-ins must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import zarr
from zarr_files import write_store, zipped

from twinloop.core.kinds import Kind
from twinloop.formats.zarr.reader import READER
from twinloop.testing.conformance import ExpectedStream, ReaderConformance, Sample

if TYPE_CHECKING:
    from pathlib import Path

STREAMS = {
    "observation.images.camera0_rgb": ExpectedStream(Kind.IMAGE, 7, frozenset({"stamp_ns"})),
    "action": ExpectedStream(Kind.TABLE, 7, frozenset({"stamp_ns"})),
    "observation.robot0_eef_pos": ExpectedStream(Kind.TABLE, 7, frozenset({"stamp_ns"})),
    "observation.robot0_eef_rot_axis_angle": ExpectedStream(Kind.TABLE, 7, frozenset({"stamp_ns"})),
    "observation.robot0_gripper_width": ExpectedStream(Kind.SCALAR, 7, frozenset({"stamp_ns"})),
}


class TestZarrFolder(ReaderConformance):
    reader = READER
    extra_module = "zarr"

    def make_sample(self, folder: Path) -> Sample:
        return Sample(write_store(folder / "replay.zarr", (3, 4), version=3), STREAMS)

    def make_large_sample(self, folder: Path) -> Path:
        path = write_store(folder / "large.zarr", (400, 100))
        data = zarr.open_group(path, mode="a")["data"]
        shape, chunks = (500, 256, 256, 3), (20, 256, 256, 3)
        images = data.create_array("img", shape=shape, chunks=chunks, dtype="u1", compressors=None)
        images[:] = np.arange(500).astype(np.uint8)[:, None, None, None]
        return path


class TestZarrZip(ReaderConformance):
    reader = READER
    extra_module = "zarr"

    def make_sample(self, folder: Path) -> Sample:
        store = write_store(folder / "replay.zarr", (3, 4))
        return Sample(zipped(store, folder / "replay.zarr.zip"), STREAMS)
