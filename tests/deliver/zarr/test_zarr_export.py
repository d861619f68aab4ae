"""ReplayBuffer's layout in Zarr v2 and v3, folder and archive, read with the package zarr."""

from __future__ import annotations

import json

import numpy as np
import pytest
import zarr
from export_lab import expected_values, files_of, number_of

from twinloop.core.errors import UsageError
from twinloop.deliver.rows import CameraClock
from twinloop.deliver.zarr.export import ZarrOptions, export_zarr

TOP = CameraClock("top")


@pytest.mark.parametrize("version", [2, 3])
def test_the_layout(session, lab, tmp_path, version):
    export_zarr([session], tmp_path / "out", ZarrOptions(TOP, version=version))
    root = zarr.open_group(str(tmp_path / "out"), mode="r")
    assert root.metadata.zarr_format == version
    assert root["meta/episode_ends"][:].tolist() == [30, 60]
    assert sorted(root["data"].array_keys()) == ["action", "depth", "state", "timestamp", "top", "wrist"]
    assert all(root["data"][key].shape[0] == 60 for key in root["data"].array_keys())
    rows = root["twinloop/row_ns"][:]
    assert np.allclose(root["data/timestamp"][:] - rows[0] / 1e9, (rows - rows[0]) / 1e9, atol=1e-6)
    assert np.array_equal(root["twinloop/features/leader_state"], root["data/state"])
    assert np.array_equal(root["data/state"], expected_values(session, rows, "observation.state"))
    assert np.array_equal(root["data/action"], expected_values(session, rows, "action"))
    assert [number_of(image) for image in root["data/top"][:]] == [k % 26 for k in range(60)]
    assert root["data/top"].dtype == np.uint8 and root["data/top"].chunks == (1, 48, 64, 3)
    assert np.array_equal(root["data/depth"][41, :, :, 0], lab.pixels(41, deep=True))
    facts = root["twinloop"].attrs
    assert [episode["instruction"] for episode in facts["episodes"]] == ["pick the cube", "put it down"]
    assert facts["features"]["action"]["names"] == ["a", "b"]
    assert root["twinloop/source_ns/observation_images_top"].shape == (60,)


def test_numcodecs_reads_the_chunks_of_v2(session, tmp_path):
    """What diffusion policy's zarr 2 does: the compressor by its id out of .zarray."""
    from numcodecs import get_codec

    export_zarr([session], tmp_path / "out", ZarrOptions(TOP))
    described = json.loads((tmp_path / "out/data/top/.zarray").read_text())
    assert described["zarr_format"] == 2 and described["compressor"]["id"] == "blosc"
    chunk = get_codec(described["compressor"]).decode((tmp_path / "out/data/top/5.0.0.0").read_bytes())
    assert number_of(np.frombuffer(chunk, np.uint8)) == 5


def test_an_archive_holds_the_same(session, tmp_path):
    export_zarr([session], tmp_path / "out.zarr.zip", ZarrOptions(TOP, float32=True))
    export_zarr([session], tmp_path / "again.zarr.zip", ZarrOptions(TOP, float32=True))
    assert (tmp_path / "out.zarr.zip").read_bytes() == (tmp_path / "again.zarr.zip").read_bytes()
    names = {path.name for path in tmp_path.iterdir() if path.name.startswith("out")}
    assert names == {"out.zarr.zip", "out.zarr.zip.twinloop"}
    root = zarr.open_group(zarr.storage.ZipStore(tmp_path / "out.zarr.zip", mode="r"), mode="r")
    assert root["data/action"].dtype == np.float32
    assert number_of(root["data/top"][33]) == 33 % 26


def test_the_same_session_gives_the_same_bytes(session, tmp_path):
    for name in ("a", "b"):
        export_zarr([session], tmp_path / name, ZarrOptions(TOP))
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_there_is_no_other_version():
    with pytest.raises(UsageError, match="2 or 3"):
        ZarrOptions(TOP, version=4)
