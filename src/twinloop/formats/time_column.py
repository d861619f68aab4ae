"""Times in tables: which column they are in, in which unit, and as exact nanoseconds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinloop.core.clock import Epoch
from twinloop.core.kinds import StampSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Nanoseconds in each unit that a table may count time in.
UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
#: Times written as dates, with or without a zone (without: UTC), or as hours, minutes and seconds.
ISO = "iso"

_SPELLINGS = {
    "s": "s|secs?|seconds?",
    "ms": "ms|msecs?|millis|milliseconds?",
    "us": "us|µs|μs|usecs?|micros|microseconds?",
    "ns": "ns|nsecs?|nanos|nanoseconds?",
}
_UNIT = {unit: re.compile(rf"(?:[\s_(\[]+)(?:in )?({words})[\])]?$") for unit, words in _SPELLINGS.items()}
_TIME = re.compile(r"(^|[^a-z])(time|times|timestamps?|time_?stamps?|stamps?|datetime|t|ts|unixtime|epoch)$")
_NO_TIME = re.compile(r"exposure|shutter|duration|delta|latency|interval|offset|dt$")
#: Earlier is better: what was measured at the sensor before what a program noted later.
_BEST = ("stamp", "exposure", "capture", "sensor", "frame", "timestamp", "time")

#: Seconds since 1970 that a recording of this century may have: 2001-09-09 to 2096-10-02.
_UNIX_S = (1e9, 4e9)
#: Rates (Hz) that make a unit believable where only the steps are known.
_LIKELY_HZ = (0.9, 20_000.0)
_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?"
#: Dates with a zone, and without one (UTC).
_DATES = (
    (_DATE + r"(Z|[+-]\d{2}(:?\d{2})?)$", pa.timestamp("ns", "UTC")),
    (_DATE + r"$", pa.timestamp("ns")),
)


def bare(name: str) -> str:
    """A header without quotes, comment marks and case."""
    return name.strip().strip("\"'#%").strip().lower()


def is_time(name: str) -> bool:
    """Whether a header names a point in time."""
    return _TIME.search(_without_unit(name)) is not None and _NO_TIME.search(bare(name)) is None


def best_time(names: Sequence[str]) -> str | None:
    """The header to order a table by; None: no header names a time."""
    times = [name for name in names if is_time(name)]

    def rank(name: str) -> int:
        return next((i for i, word in enumerate(_BEST) if word in bare(name)), len(_BEST))

    return min(times, key=rank, default=None)


def declared_unit(name: str) -> str | None:
    """The unit in a header: ``time_us``, ``Time (s)``, ``timestamp [ns]``."""
    return next((unit for unit, pattern in _UNIT.items() if pattern.search(bare(name))), None)


def likely_unit(values: NDArray[np.float64], rate_hz: float | None = None) -> str | None:
    """The unit in which `values` (N,) make sense; None: in none.

    Times since 1970 tell by their size. Others tell by their median step: the unit that comes nearest to
    `rate_hz` where a rate is declared, else the coarsest that makes 0.9 to 20,000 samples a second.
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    size = float(np.median(np.abs(values)))
    for unit, scale in UNITS.items():
        if _UNIX_S[0] <= size * scale / UNITS["s"] < _UNIX_S[1] and (unit != "s" or size >= _UNIX_S[0]):
            return unit
    steps = np.diff(values)
    steps = steps[steps > 0]
    if not len(steps):
        return None
    rates = {unit: 1e9 / (float(np.median(steps)) * scale) for unit, scale in UNITS.items()}
    if rate_hz:
        return min(rates, key=lambda unit: abs(np.log(rates[unit] / rate_hz)))
    return next((unit for unit, rate in rates.items() if _LIKELY_HZ[0] <= rate <= _LIKELY_HZ[1]), None)


def to_ns(column: pa.Array, unit: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Times as int64 ns (N,), and which of them are times (N,) (others are 0).

    Text and integers are converted exactly, whatever their size; floats as exactly as they are.
    """
    if pa.types.is_timestamp(column.type):
        column = pc.cast(column, pa.timestamp("ns", column.type.tz), safe=False)
        return _filled(pc.cast(column, pa.int64()))
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _text_to_ns(pc.cast(column, pa.string()), unit)
    scale = UNITS[unit]
    if pa.types.is_integer(column.type):
        whole, valid = _filled(pc.cast(column, pa.int64(), safe=False))
        fits = np.abs(whole) <= np.iinfo(np.int64).max // scale
        return np.where(valid & fits, whole * np.where(fits, scale, 0), 0), valid & fits
    return floats_to_ns(np.asarray(column.to_numpy(zero_copy_only=False), np.float64), unit)


def floats_to_ns(values: NDArray[np.float64], unit: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Float times (N,) as int64 ns, whole and fraction apart, and which of them are finite."""
    scale = UNITS[unit]
    with np.errstate(invalid="ignore"):
        valid = np.isfinite(values) & (np.abs(values) * scale < 9.2e18)
    whole = np.floor(np.where(valid, values, 0.0))
    fraction = np.rint((np.where(valid, values, 0.0) - whole) * scale)
    return whole.astype(np.int64) * scale + fraction.astype(np.int64), valid


def epoch_of(first_ns: int) -> Epoch:
    """What a clock counts from, by the size of a time on it."""
    return Epoch.UNIX if _UNIX_S[0] <= first_ns / 1e9 < _UNIX_S[1] else Epoch.UNKNOWN


def source_of(name: str) -> StampSource:
    """What the stamps of a column are, by its header; a host's capture times are the usual case."""
    words = bare(name)
    if "exposure" in words:
        return StampSource.EXPOSURE_MID if "mid" in words else StampSource.EXPOSURE_START
    if re.search(r"sensor|device|hardware|(^|_)hw(_|$)", words):
        return StampSource.SENSOR
    if re.search(r"publish|sent", words):
        return StampSource.PUBLISH
    return StampSource.LOG if re.search(r"(^|_)log|recv|receive|arriv", words) else StampSource.DRIVER


def _without_unit(name: str) -> str:
    words = bare(name)
    for pattern in _UNIT.values():
        words = pattern.sub("", words)
    return words.strip()


def _filled(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    valid = np.asarray(column.is_valid())
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False), np.int64), valid


def _text_to_ns(column: pa.Array, unit: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    column = pc.utf8_trim_whitespace(column)
    if unit == ISO:
        return _iso_to_ns(column)
    digits = len(str(UNITS[unit])) - 1
    pattern = rf"^(?P<sign>[+-]?)(?P<whole>\d{{1,{19 - digits}}})(?:\.(?P<part>\d*))?$"
    parts = pc.extract_regex(column, pattern)
    exact = np.asarray(parts.is_valid())
    whole, _ = _filled(pc.cast(_or_zero(pc.struct_field(parts, "whole")), pa.int64()))
    total = whole * UNITS[unit]
    if digits:
        part = pc.utf8_rpad(pc.fill_null(pc.struct_field(parts, "part"), ""), digits + 1, "0")
        more, _ = _filled(pc.cast(pc.utf8_slice_codeunits(part, 0, digits), pa.int64()))
        half = pc.greater_equal(pc.utf8_slice_codeunits(part, digits, digits + 1), "5")
        total = total + more + np.asarray(half)
    negative = np.asarray(pc.equal(pc.fill_null(pc.struct_field(parts, "sign"), ""), "-"))
    total = np.where(negative, -total, total)
    if exact.all():
        return total, exact
    others = np.flatnonzero(~exact & np.asarray(column.is_valid()))
    numbers = np.array([_float_or_nan(text) for text in column.take(pa.array(others)).to_pylist()], np.float64)
    ns, finite = floats_to_ns(numbers, unit)
    total[others], exact[others] = ns, finite
    return np.where(exact, total, 0), exact


def _or_zero(column: pa.Array) -> pa.Array:
    return pc.fill_null(pc.replace_substring_regex(column, "^$", "0"), "0")


def _float_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _iso_to_ns(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Dates of ISO 8601, and times since some start such as ``01:02:03.25``."""
    total, valid = _elapsed_to_ns(column)
    for pattern, kind in _DATES:
        rows = np.flatnonzero(np.asarray(pc.fill_null(pc.match_substring_regex(column, pattern), False)))
        if not len(rows):
            continue
        texts = column.take(pa.array(rows))
        try:
            total[rows], valid[rows] = _filled(pc.cast(pc.cast(texts, kind), pa.int64()))
        except pa.ArrowInvalid:  # a 31st of February among them
            values = [_one_date(text, kind) for text in texts.to_pylist()]
            total[rows] = [value or 0 for value in values]
            valid[rows] = [value is not None for value in values]
    return total, valid


def _elapsed_to_ns(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    parts = pc.extract_regex(column, r"^(?P<h>\d{1,4}):(?P<m>\d{2}):(?P<s>\d{2}(?:\.\d+)?)$")
    valid = np.asarray(parts.is_valid())
    hours, _ = _filled(pc.cast(pc.fill_null(pc.struct_field(parts, "h"), "0"), pa.int64()))
    minutes, _ = _filled(pc.cast(pc.fill_null(pc.struct_field(parts, "m"), "0"), pa.int64()))
    seconds, _ = _text_to_ns(pc.fill_null(pc.struct_field(parts, "s"), "0"), "s")
    return np.where(valid, (hours * 60 + minutes) * 60 * UNITS["s"] + seconds, 0), valid


def _one_date(text: str, kind: pa.DataType) -> int | None:
    try:
        return int(pa.scalar(text).cast(kind).cast(pa.int64()).as_py())
    except pa.ArrowInvalid:
        return None
