"""The Parquet files of a LeRobot v3.0 dataset: data, episodes, tasks."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.deliver.lerobot.limits import CHUNKS_SIZE, DATA_FILE_MB, next_file, place_in

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from twinloop.deliver.lerobot.stats import FeatureStats

DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
TASKS_PATH = "meta/tasks.parquet"

#: Episodes a row group of the episodes table, as LeRobot buffers them.
_EPISODES_A_GROUP = 10

_ARROW = {"float32": pa.float32(), "int64": pa.int64(), "bool": pa.bool_()}


def column_of(values: NDArray[np.generic], dtype: str) -> pa.Array:
    """Values (R,) as a plain column; (R, D) as a column of fixed-size lists, plain again for D = 1."""
    flat = pa.array(np.ascontiguousarray(values, dtype).reshape(-1), _ARROW[dtype])
    width = 1 if values.ndim == 1 else values.shape[1]
    return flat if width == 1 else pa.FixedSizeListArray.from_arrays(flat, width)


def huggingface_metadata(schema: pa.Schema) -> dict[bytes, bytes]:
    """What the ``datasets`` library reads its features from. ``Sequence`` is understood by all its versions
    (4.0 renamed it ``List``, which older ones refuse)."""
    features: dict[str, object] = {}
    for field in schema:
        if pa.types.is_fixed_size_list(field.type):
            value = {"dtype": _hf_dtype(field.type.value_type), "_type": "Value"}
            features[field.name] = {"feature": value, "length": field.type.list_size, "_type": "Sequence"}
        else:
            features[field.name] = {"dtype": _hf_dtype(field.type), "_type": "Value"}
    return {b"huggingface": json.dumps({"info": {"features": features}}).encode()}


def _hf_dtype(kind: pa.DataType) -> str:
    return {pa.float32(): "float32", pa.int64(): "int64", pa.bool_(): "bool"}[kind]


class ChunkedParquet:
    """Parquet files that roll over by size, at the places that LeRobot would choose; with `one_each`, at
    each call of `make_room`."""

    def __init__(
        self, root: Path, pattern: str, file_mb: float = DATA_FILE_MB, *, one_each: bool = False
    ) -> None:
        self._root = root
        self._pattern = pattern
        self._one_each = one_each
        self._most_bytes = file_mb * 1024**2
        self._sink: IO[bytes] | None = None
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0
        self.place = (0, -1)

    def make_room(self, rows: int) -> tuple[int, int]:
        """(chunk, file) that the next `rows` rows go into: a new one where they would not fit."""
        size = self._sink.tell() if self._sink is not None else 0
        if self._one_each or self._sink is None or size + size / max(self._rows, 1) * rows >= self._most_bytes:
            self.close()
            self.place = next_file(*self.place, CHUNKS_SIZE)
        return self.place

    def write(self, table: pa.Table) -> None:
        """Write one row group into the file that :meth:`make_room` chose."""
        import pyarrow.parquet as pq

        if self._writer is None:
            chunk, file = self.place
            path = self._root / place_in(self._pattern, chunk, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._sink = path.open("wb")
            self._writer = pq.ParquetWriter(self._sink, table.schema, compression="snappy", use_dictionary=True)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self._rows += table.num_rows

    def close(self) -> None:
        """Finish the file that is open."""
        if self._writer is not None:
            self._writer.close()
        if self._sink is not None:
            self._sink.close()
        self._writer = self._sink = None
        self._rows = 0


class EpisodesTable:
    """`meta/episodes`: one row an episode, its statistics flattened into columns."""

    def __init__(self, root: Path) -> None:
        self._files = ChunkedParquet(root, EPISODES_PATH)
        self._waiting: list[dict[str, object]] = []
        self._schema: pa.Schema | None = None

    def add(self, row: dict[str, object], stats: dict[str, FeatureStats]) -> None:
        """Add an episode; `row` holds LeRobot's own columns up to the statistics."""
        flat = {
            f"stats/{feature}/{key}": value.tolist()
            for feature, values in stats.items()
            for key, value in values.items()
        }
        self._waiting.append(row | flat)
        if len(self._waiting) == _EPISODES_A_GROUP:
            self._flush()

    def close(self) -> None:
        """Write what waits and finish."""
        self._flush()
        self._files.close()

    def _flush(self) -> None:
        if not self._waiting:
            return
        chunk, file = self._files.make_room(len(self._waiting))
        place = {"meta/episodes/chunk_index": chunk, "meta/episodes/file_index": file}
        table = pa.Table.from_pylist([row | place for row in self._waiting], self._schema)
        self._schema = table.schema
        self._files.write(table)
        self._waiting = []


def write_tasks(root: Path, tasks: list[str]) -> None:
    """`meta/tasks.parquet`: the index of each task, the task itself as the index that pandas reads."""
    import pyarrow.parquet as pq

    def described(name: str, pandas_type: str, numpy_type: str) -> dict[str, object]:
        return {
            "name": name,
            "field_name": name,
            "pandas_type": pandas_type,
            "numpy_type": numpy_type,
            "metadata": None,
        }

    pandas = {
        "index_columns": ["task"],
        "column_indexes": [
            {
                "name": None,
                "field_name": None,
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": {"encoding": "UTF-8"},
            }
        ],
        "columns": [described("task_index", "int64", "int64"), described("task", "unicode", "object")],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }
    table = pa.table(
        {"task_index": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(tasks, pa.string())}
    )
    path = root / TASKS_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({b"pandas": json.dumps(pandas).encode()}), path)
