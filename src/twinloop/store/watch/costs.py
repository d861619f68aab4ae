"""What an hour of usable data costs, by the rates that the store's settings state.

```toml
[costs]
operator_per_hour = 30.0      # of recorded time
robot_per_hour = 12.0         # of recorded time: depreciation, space, power
storage_per_gb_month = 0.023  # of raw bytes (1 GB = 10^9 bytes), for the first month
currency = "EUR"
```

A rate that is not stated counts nothing and is named as not stated: it is never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

_RATES = ("operator_per_hour", "robot_per_hour", "storage_per_gb_month")


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates in `currency`; None where one is not stated."""

    operator_per_hour: float | None = None
    robot_per_hour: float | None = None
    storage_per_gb_month: float | None = None
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a day's recordings cost.

    Attributes:
        parts: by the rate's name. total: of all parts; None if no rate is stated.
        per_usable_hour: total by usable hours; None without either.
        not_stated: rates that are missing from the settings.
    """

    parts: dict[str, float]
    total: float | None
    per_usable_hour: float | None
    not_stated: tuple[str, ...]
    currency: str


def rates_of(settings: Mapping[str, object]) -> Rates:
    """The rates in a store's settings.

    Raises:
        StoreError: the table [costs] holds something else than rates.
    """
    table = settings.get("costs", {})
    known = [field.name for field in fields(Rates)]
    if not isinstance(table, dict):
        raise StoreError("costs is no table", where="store.toml", expected="[costs]")
    for name, value in table.items():
        if name not in known:
            raise StoreError(
                f"[costs] has {name!r}", where="store.toml", expected=f"some of {', '.join(known)}"
            )
        is_rate = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        if not (is_rate if name in _RATES else isinstance(value, str)):
            raise StoreError(
                f"[costs] {name} is {value!r}",
                where="store.toml",
                expected="a number from 0 on" if name in _RATES else 'text: currency = "EUR"',
            )
    return Rates(**table)


def cost(rates: Rates, recorded_h: float, usable_h: float, size: int) -> Cost:
    """The cost of recordings of `recorded_h` hours and `size` bytes, `usable_h` hours of which are usable."""
    amounts = {
        "operator_per_hour": recorded_h,
        "robot_per_hour": recorded_h,
        "storage_per_gb_month": size / 1e9,
    }
    stated = {name: rate for name in _RATES if (rate := getattr(rates, name)) is not None}
    parts = {name: round(rate * amounts[name], 4) for name, rate in stated.items()}
    total = round(sum(parts.values()), 4) if parts else None
    return Cost(
        parts=parts,
        total=total,
        per_usable_hour=round(total / usable_h, 4) if total is not None and usable_h > 0 else None,
        not_stated=tuple(name for name in _RATES if name not in stated),
        currency=rates.currency,
    )
