"""Words of a dataset: tasks, subtasks and plans that hold for a while, and things said at one moment.

The language columns are LeRobot 0.6's: `language_persistent` repeats an episode's statements, each with its
own time, in every row; `language_events` holds what was said at its row.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.formats.lerobot.columns import text_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SAID = ("role", "content", "style", "timestamp", "camera")


def is_statements(kind: pa.DataType) -> bool:
    """Whether a column holds lists of statements."""
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and pa.types.is_struct(kind.value_type)


def event_columns(column: pa.Array, stamp_ns: NDArray[np.int64]) -> dict[str, pa.Array]:
    """What was said at each row: name is its style, data the whole statement as JSON."""
    parents = np.asarray(pc.list_parent_indices(column), np.int64)
    statements = column.flatten().to_pylist()
    return {
        "stamp_ns": pa.array(stamp_ns[parents], pa.int64()),
        "name": pa.array([str(s.get("style") or s.get("role") or "said") for s in statements], pa.string()),
        "data": pa.array([json.dumps(_stated(s), default=str) for s in statements], pa.string()),
    }


class PersistentLanguage:
    """Takes each statement once, though every row of its episode repeats it."""

    def __init__(self) -> None:
        self._seen: set[tuple[Any, ...]] = set()

    def columns(
        self,
        column: pa.Array,
        episode: NDArray[np.int64],
        base_ns: NDArray[np.int64],
        stamp_ns: NDArray[np.int64],
    ) -> dict[str, pa.Array]:
        """The statements of N rows that were not there before; `episode`, `base_ns`, `stamp_ns` (N,)."""
        parents = np.asarray(pc.list_parent_indices(column), np.int64)
        items = column.flatten()
        names = [items.type.field(i).name for i in range(items.type.num_fields)]
        said = {name: pc.struct_field(items, name) for name in _SAID if name in names}
        table = pa.table({**said, "episode": episode[parents], "place": np.arange(len(items))})
        keys = [*said, "episode"]
        first = np.sort(np.asarray(table.group_by(keys).aggregate([("place", "min")]).column("place_min")))
        fresh = []
        for place, row in zip(first, table.select(keys).take(pa.array(first)).to_pylist(), strict=True):
            key = tuple(row.values())
            if key not in self._seen:
                self._seen.add(key)
                fresh.append(int(place))
        statements = items.take(pa.array(fresh, pa.int64())).to_pylist()
        rows = parents[fresh] if fresh else np.empty(0, np.int64)
        times = [
            int(stamp) if s.get("timestamp") is None else int(base) + round(s["timestamp"] * 1e9)
            for s, stamp, base in zip(statements, stamp_ns[rows], base_ns[rows], strict=True)
        ]
        return {
            "stamp_ns": pa.array(times, pa.int64()),
            "text": pa.array([s.get("content") for s in statements], pa.string()),
            **{
                name: pa.array([s.get(name) for s in statements], pa.string())
                for name in ("style", "role", "camera")
            },
            "tool_calls": text_column(pa.array([s.get("tool_calls") or None for s in statements])),
        }


class TaskWords:
    """The instruction of each episode, once at its start and again wherever the task changes."""

    def __init__(self, tasks: dict[int, str]) -> None:
        self._tasks = tasks
        self._last: tuple[int, int] | None = None

    def columns(
        self, task: NDArray[np.int64], episode: NDArray[np.int64], stamp_ns: NDArray[np.int64]
    ) -> dict[str, pa.Array]:
        """Rows of `task` index (N,), -1 where it is missing."""
        pairs = np.stack((episode, task), axis=1)
        changed = np.ones(len(pairs), np.bool_)
        changed[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
        if len(pairs):
            changed[0] = self._last != (int(pairs[0, 0]), int(pairs[0, 1]))
            self._last = (int(pairs[-1, 0]), int(pairs[-1, 1]))
        rows = np.flatnonzero(changed & (task >= 0))
        return {
            "stamp_ns": pa.array(stamp_ns[rows], pa.int64()),
            "text": pa.array([self._tasks.get(int(t), f"task {t}") for t in task[rows]], pa.string()),
            "task_index": pa.array(task[rows], pa.int64()),
        }


def _stated(statement: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in statement.items() if value is not None}
