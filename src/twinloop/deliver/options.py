"""What a user chooses about the rows of any dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.errors import UsageError
from twinloop.deliver.align import Align

if TYPE_CHECKING:
    from twinloop.deliver.rows import RowClock


@dataclass(frozen=True, slots=True)
class RowOptions:
    """How rows are made, whatever format they go into.

    Attributes:
        clock: what the rows are. align: which samples observations take (actions hold, always).
        max_age_ms: rows with an older sample are marked invalid; None: none is.
        keep_gaps: fill gaps with rows that show the image before again, instead of splitting there.
        task: the task of episodes without an instruction.
        include_excluded: take episodes that were excluded, too.
    """

    clock: RowClock
    align: Align = Align.LATEST
    max_age_ms: float | None = None
    keep_gaps: bool = False
    task: str | None = None
    include_excluded: bool = False

    def __post_init__(self) -> None:
        if self.max_age_ms is not None and not self.max_age_ms >= 0:
            raise UsageError(
                f"no sample is younger than {self.max_age_ms:g} ms", expected="--max-age of 0 ms or more"
            )

    @property
    def max_age_ns(self) -> float:
        """The oldest a sample may be, in ns."""
        return float("inf") if self.max_age_ms is None else self.max_age_ms * 1e6
