"""What an export of ours says of its episodes, in the attributes of the group `twinloop`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from twinloop.formats.steps.grid import likely_rate
from twinloop.formats.steps.stamps import Stamps, stamps_of
from twinloop.formats.zarr.chunks import OWN


@dataclass(frozen=True, slots=True)
class Written:
    """`episodes`: the instruction and outcome of each, empty where nothing is said; what their times are."""

    episodes: tuple[tuple[str | None, str | None], ...] = ()
    stamps: frozenset[Stamps] = frozenset()
    rate_hz: float | None = None

    def of(self, episode: int) -> tuple[str | None, str | None]:
        """Instruction and outcome of an episode."""
        return self.episodes[episode] if self.episodes else (None, None)


def written_of(group: Any, episodes: int) -> Written:
    """What is said of so many episodes; nothing where it is said of another number of them."""
    try:
        said = dict(group[OWN].attrs)
    except Exception:  # no such group, or whatever damaged JSON makes of itself
        return Written()
    each = said.get("episodes")
    if not isinstance(each, list) or len(each) != episodes or not all(isinstance(one, dict) for one in each):
        return Written()
    return Written(
        tuple((_text(one.get("instruction")), _text(one.get("outcome"))) for one in each),
        frozenset(stamps_of(one.get("stamp_source"), one.get("clock")) for one in each),
        likely_rate(said.get("fps")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
