"""Columns that a mapping file makes of elements of datasets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from twinloop.core.kinds import Kind
    from twinloop.core.stream import Payload
    from twinloop.formats.steps.decode import ReadRows
    from twinloop.formats.table.fields import FieldPlan

    Made = tuple[dict[str, pa.Array], Payload | None]


@dataclass(frozen=True)
class Mapped:
    """Columns by a mapping file: `elements` are the plan's columns, element k of a dataset."""

    plan: FieldPlan
    elements: dict[str, tuple[str, int | None]] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        return self.plan.kind

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.elements[name][0] for name in self.plan.sources))

    def columns(self, read: ReadRows, rows: int, *, payload: bool) -> Made:  # noqa: ARG002
        data = {source: read(source) for source in self.sources}
        flat: dict[str, pa.Array] = {}
        for name in self.plan.sources:
            source, element = self.elements[name]
            values = data[source]
            if values.dtype.kind in "OS":
                texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values]
                flat[name] = pa.array(texts, pa.string())
            else:
                column = values.reshape(rows, -1)[:, element or 0]
                flat[name] = pa.array(np.ascontiguousarray(column))
        return self.plan.columns(pa.RecordBatch.from_pydict(flat)), None
