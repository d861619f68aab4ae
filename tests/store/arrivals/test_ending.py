"""Files without the end that their format has are told from whole ones."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twinloop.store.arrivals.ending import unfinished
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session


def cut(path: Path, share: float = 0.9) -> Path:
    short = path.with_name(f"cut-{path.name}")
    data = path.read_bytes()
    short.write_bytes(data[: int(len(data) * share)])
    return short


def test_mcap(tmp_path):
    whole = tmp_path / "a.mcap"
    record_session(whole, SessionSpec(duration_s=2.0, cameras=()))
    assert unfinished(whole) is None
    for share in (0.001, 0.5, 0.999):
        assert "MCAP" in (unfinished(cut(whole, share)) or "")


def test_parquet(tmp_path):
    whole = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), whole)
    assert unfinished(whole) is None
    assert "Parquet" in (unfinished(cut(whole)) or "")


def test_mp4(tmp_path):
    import av
    import numpy as np

    whole = tmp_path / "a.mp4"
    with av.open(str(whole), "w") as container:
        stream = container.add_stream("h264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(5):
            image = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")
            container.mux(stream.encode(image))
        container.mux(stream.encode())
    assert unfinished(whole) is None
    assert "MP4" in (unfinished(cut(whole)) or "")
    before_index = whole.read_bytes().index(b"moov") - 4
    (tmp_path / "b.mp4").write_bytes(whole.read_bytes()[:before_index])
    assert "moov" in (unfinished(tmp_path / "b.mp4") or "")


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_hdf5(tmp_path, libver):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver=libver) as file:
        file["x"] = list(range(1000))
        file.flush()
        if libver == "latest":
            assert "did not close" in (unfinished(path) or "")
    assert unfinished(path) is None
    assert "HDF5" in (unfinished(cut(path)) or "")


def test_ros1_bag(tmp_path):
    from rosbags.rosbag1 import Writer

    path = tmp_path / "a.bag"
    with Writer(path):
        pass
    assert unfinished(path) is None
    data = bytearray(path.read_bytes())
    at = data.index(b"index_pos=") + 10
    data[at : at + 8] = bytes(8)
    path.write_bytes(data)
    assert "index" in (unfinished(path) or "")


def test_sqlite_with_an_open_transaction(tmp_path):
    path = tmp_path / "a.db3"
    connection = sqlite3.connect(path)
    connection.execute("create table a (b)")
    connection.commit()
    assert unfinished(path) is None
    connection.execute("pragma journal_mode=wal")
    connection.execute("insert into a values (1)")
    connection.commit()
    assert "transaction" in (unfinished(path) or "")
    connection.close()
    assert unfinished(path) is None


def test_names_that_writers_give(tmp_path):
    for name in ("a.mcap.part", "b.bag.active", "c.tmp"):
        (tmp_path / name).write_bytes(b"x" * 100)
        assert "by its name" in (unfinished(tmp_path / name) or "")
    (tmp_path / "empty.mcap").touch()
    assert unfinished(tmp_path / "empty.mcap") == "it is empty"
    (tmp_path / "anything.bin").write_bytes(b"x")
    assert unfinished(tmp_path / "anything.bin") is None
    assert unfinished(tmp_path / "nothing") == "it went away"


def test_parts_of_a_bag_wait_for_its_metadata(tmp_path):
    bag = tmp_path / "bag"
    bag.mkdir()
    record_session(bag / "bag_0.mcap", SessionSpec(duration_s=2.0, cameras=()))
    assert "metadata.yaml" in (unfinished(bag) or "")


def test_parts_of_a_dataset_wait_for_its_index(tmp_path):
    part = tmp_path / "set" / "data" / "chunk-000" / "file-000.parquet"
    part.parent.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), part)
    assert "info.json" in (unfinished(part) or "")
    (tmp_path / "set" / "meta").mkdir()
    (tmp_path / "set" / "meta" / "info.json").write_text("{}")
    assert unfinished(part) is None


def test_a_recording_with_cameras_is_whole(tmp_path):
    path = tmp_path / "a.mcap"
    record_session(path, SessionSpec(duration_s=2.0, cameras=(CameraSpec("scene", 5.0, width=32, height=24),)))
    assert unfinished(path) is None
