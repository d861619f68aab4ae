"""What recordings made of steps share: names for elements that their source only numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from twinloop.core.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Mapping


class StepRecording(Recording):
    """A recording whose vectors have elements ``dim_0``, ``dim_1``... unless `elements` names them."""

    elements: Mapping[str, tuple[str, ...]] = {}

    def named(self, stream: str, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Columns of a stream, its elements under their names."""
        names = self.elements.get(stream, ())
        numbered = [f"dim_{k}" for k in range(len(names))]
        if names and list(columns) == numbered:
            return dict(zip(names, columns.values(), strict=True))
        if names and "name" in columns and columns["name"].values.dictionary.to_pylist() == numbered:
            column = columns["name"]
            words = pa.DictionaryArray.from_arrays(column.values.indices, pa.array(names, pa.string()))
            return {**columns, "name": pa.ListArray.from_arrays(column.offsets, words)}
        return columns
