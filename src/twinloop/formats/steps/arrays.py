"""What is known of an array with one row a step, before a row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Array:
    """An array: `shape`, `dtype`; `chunk_rows` are unpacked at once (0: not chunked); `bytes` as stored."""

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunk_rows: int
    bytes: int

    @property
    def rows(self) -> int:
        return self.shape[0] if self.shape else 0

    @property
    def is_number(self) -> bool:
        """Whether values are numbers or truth values."""
        return self.dtype.kind in "biuf"

    @property
    def is_text(self) -> bool:
        """Whether values are texts, of fixed or (as h5py marks its types) of any length."""
        return self.dtype.kind in "SU" or dict(self.dtype.metadata or {}).get("vlen") in (str, bytes)
