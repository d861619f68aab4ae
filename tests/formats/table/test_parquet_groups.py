"""A damaged row group costs its own rows and no others."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinloop.core.recording import Problem
from twinloop.formats.reader import open_recording


def test_what_lies_behind_a_damaged_row_group_is_read(tmp_path):
    path = tmp_path / "values.parquet"
    rows, group = 4000, 1000
    table = pa.table({"time": np.arange(rows) / 100, "value": np.random.default_rng(0).normal(size=rows)})
    pq.write_table(table, path, row_group_size=group, compression="zstd", use_dictionary=False)
    column = pq.read_metadata(path).row_group(1).column(1)
    data = bytearray(path.read_bytes())
    start = column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)

    with open_recording(path) as recording:
        (name,) = recording.streams
        read = recording.read(name)
        (note,) = [note for note in recording.notes if note.problem is Problem.CORRUPT]
    assert read.num_rows == rows - group
    assert read.column("value")[-1] == table.column("value")[-1]
    assert note.lost == group
    assert note.where.row == group
