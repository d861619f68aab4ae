"""The texts of one string field, numbered: what Arrow calls a dictionary, kept between buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.formats.ros.gather import gather, gather_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: More texts than this are forgotten at the next buffer, so that a field of unique texts stays small.
MAX_KEPT = 512


class Vocabulary:
    """Numbers texts in the order they are met."""

    def __init__(self) -> None:
        self._replaced: list[int] = []
        self._codes: dict[tuple[str, bytes], int] = {}
        self._texts: list[str] = []
        self._array: pa.StringArray | None = None

    def begin(self) -> None:
        """A new buffer starts: forget the texts if they became too many."""
        if len(self._texts) > MAX_KEPT:
            self._codes, self._texts, self._array, self._replaced = {}, [], None, []

    def code(self, raw: bytes, encoding: str) -> int:
        """The number of a text given as bytes."""
        code = self._codes.get((encoding, raw))
        if code is None:
            code = self._codes[encoding, raw] = len(self._texts)
            try:
                self._texts.append(raw.decode(encoding))
            except UnicodeDecodeError:
                self._texts.append(raw.decode(encoding, "replace"))
                self._replaced.append(code)
            self._array = None
        return code

    def codes(self, texts: Sequence[bytes], encoding: str) -> NDArray[np.int32]:
        """The numbers (N,) of N texts given as bytes."""
        return np.array([self.code(raw, encoding) for raw in texts], np.int32)

    def encode(
        self,
        buffer: NDArray[np.uint8],
        start: NDArray[np.int64],
        length: NDArray[np.int64],
        encoding: str,
    ) -> NDArray[np.int32]:
        """The numbers (N,) of the texts at `start` (N,) of `length` (N,) bytes in the buffer."""
        if not len(start):
            return np.empty(0, np.int32)
        size = int(length[0])
        if (length == size).all():
            rows = gather(buffer, start, size)
            if (rows == rows[0]).all():
                return np.full(len(start), self.code(rows[0].tobytes(), encoding), np.int32)
            data = rows.reshape(-1)
        else:
            data = gather_pieces(buffer, start, length)
        offsets = np.zeros(len(start) + 1, np.int32)
        np.cumsum(length, out=offsets[1:])
        raw = pa.Array.from_buffers(
            pa.binary(), len(start), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        ).dictionary_encode()
        return self.codes(raw.dictionary.to_pylist(), encoding)[np.asarray(raw.indices)]

    def array(self) -> pa.StringArray:
        """All texts, by number."""
        if self._array is None:
            self._array = pa.array(self._texts, pa.string())
        return self._array

    def replaced(self, codes: NDArray[np.int32]) -> str | None:
        """The first of the texts `codes` that was not valid in its encoding, as read with replacements."""
        wrong = np.isin(codes, self._replaced) if self._replaced else np.zeros(0, bool)
        return self._texts[codes[np.argmax(wrong)]] if wrong.any() else None
