"""Times of streams of which every sample is a file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from twinloop.core.clock import Clock
from twinloop.core.kinds import StampSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from twinloop.core.stream import Stream


@dataclass(frozen=True, slots=True)
class FileTimes:
    """The times of files (N,): `stamp_ns` int64 and `seq` int64, each None where the source has none."""

    stamp_ns: NDArray[np.int64] | None = None
    seq: NDArray[np.int64] | None = None
    source: StampSource = StampSource.NONE
    clock: Clock = field(default_factory=Clock)

    def columns(self, rows: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The time columns of some rows (K,)."""
        times = {"stamp_ns": self.stamp_ns, "seq": self.seq}
        return {
            name: pa.array(values[rows], pa.int64()) for name, values in times.items() if values is not None
        }

    def on(self, stream: Stream) -> Stream:
        """A stream of these files, with what their times say of it."""
        start_ns, end_ns = self._span()
        return replace(
            stream,
            start_ns=start_ns,
            end_ns=end_ns,
            timeline="stamp_ns",
            stamp_source=self.source,
            stamp_clock=self.clock,
        )

    def _span(self) -> tuple[int | None, int | None]:
        """First and last stamp."""
        if self.stamp_ns is None or not len(self.stamp_ns):
            return None, None
        return int(self.stamp_ns.min()), int(self.stamp_ns.max())
