"""Bulk bytes and columns come back as they went in, from files that other tools read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from twinloop.core.errors import StoreError
from twinloop.core.stream import Payload
from twinloop.store.packs import PackReader, PackWriter
from twinloop.store.tables import TableWriter


def payload_of(samples):
    lengths = np.array([len(sample) for sample in samples], np.int64)
    return Payload(np.frombuffer(b"".join(samples), np.uint8), np.cumsum(lengths) - lengths, lengths)


def pack(path, samples, batch=7):
    writer = PackWriter(path)
    offsets = [
        writer.append(payload_of(samples[start : start + batch])) for start in range(0, len(samples), batch)
    ]
    writer.close()
    return np.concatenate(offsets), np.array([len(sample) for sample in samples], np.int64)


@pytest.fixture
def samples():
    rng = np.random.default_rng(1)
    sizes = [0, 10, 3_000_000, 5_000_000, 1, 0, 700_000, 3_999_999, 12, 0]
    return [rng.integers(0, 4, size).astype(np.uint8).tobytes() for size in sizes]


def test_samples_come_back(tmp_path, samples):
    offsets, lengths = pack(tmp_path / "a.zst", samples)
    reader = PackReader(tmp_path / "a.zst")
    frames = reader.frame_of(offsets)
    for row in (*range(len(samples)), 3, 0):
        found = reader.payload(offsets[row : row + 1], lengths[row : row + 1])
        assert bytes(found[0]) == samples[row]
    assert len(set(frames.tolist())) > 1


def test_zstd_alone_gives_all_samples(tmp_path, samples):
    pack(tmp_path / "a.zst", samples)
    with zstandard.open(tmp_path / "a.zst", "rb", zstandard.ZstdDecompressor()) as _:
        pass
    with (tmp_path / "a.zst").open("rb") as file:
        whole = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    assert whole == b"".join(samples)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_pack_is_told(tmp_path, samples, damage):
    path = tmp_path / "a.zst"
    offsets, lengths = pack(path, samples)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[:-20]
    elif damage == "empty":
        content = content[:0]
    else:
        content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        reader = PackReader(path)
        for row in range(len(samples)):
            reader.payload(offsets[row : row + 1], lengths[row : row + 1])


def batch(rows, start=0, **more):
    names = pa.array([[f"j{start}", "k"]] * rows, pa.list_(pa.dictionary(pa.int32(), pa.string())))
    return pa.record_batch(
        {
            "stamp_ns": pa.array(np.arange(rows) + start),
            "name": names,
            "position": pa.array([[float("nan"), -0.0]] * rows),
            "frame_id": pa.array([f"f{start}"] * rows).dictionary_encode(),
            "rotation": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(4.0 * rows)), 4),
            "u": pa.array([2**64 - 1] * rows, pa.uint64()),
            **more,
        }
    )


def rows_of(batches):
    return [str(row) for b in batches for row in pa.Table.from_batches([b]).to_pylist()]


def read(writer):
    return [b for path in writer.paths for b in pq.read_table(path).to_batches()]


def test_columns_come_back_with_their_types(tmp_path):
    batches = [batch(5), batch(1, 5), batch(20_000, 6)]
    writer = TableWriter(tmp_path, "t")
    for b in batches:
        writer.append(b)
    writer.close()
    assert len(writer.paths) == 1
    found = read(writer)
    assert rows_of(found) == rows_of(batches)
    assert found[0].schema.equals(batches[0].schema)


def test_columns_that_come_later_or_change_their_type_are_kept(tmp_path):
    batches = [
        batch(3),
        batch(3, 3, extra=pa.array([1.0, 2.0, 3.0])),
        batch(3, 6),
        batch(3, 9, extra=pa.array(["a", "b", "c"])),
    ]
    writer = TableWriter(tmp_path, "t")
    for b in batches:
        writer.append(b)
        writer.flush()
    writer.close()
    tables = [pq.read_table(path) for path in writer.paths]
    assert sum(t.num_rows for t in tables) == 12
    extras = [value for t in tables if "extra" in t.schema.names for value in t.column("extra").to_pylist()]
    assert [value for value in extras if value is not None] == [1.0, 2.0, 3.0, "a", "b", "c"]
