"""NaN or infinity where a number should be.

## What it does

Reports samples of floating-point columns that are NaN or infinite, with row, column and joint.

## Why it matters

One NaN in a batch makes every weight NaN. Tools that skip such rows shift the rest.

## How it is measured

Every number of every stream is looked at, except ranges of laser scans, where infinity and NaN have a
meaning (REP 117), and covariances. Neighbouring rows are one finding; its value is their number. An element
that is NaN in every sample was never measured: that is information (ros2_control does so for interfaces
that a joint does not have), unless a feature is taken from that column.

## Example

A force sensor lost its connection: `SIG001 effort of elbow is not finite in 120 samples`.

## Repair

Exclude the span, or interpolate over it knowingly at export. Find why the driver emits NaN.

## Tuning

- `listed`: places that are listed for each column and element; more are counted in each (10).

## References

- REP 117, "Informational Distance Measurements"
- lerobot-doctor, robovet DATA-107, physlint, adduct, rdq
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import count, few, runs
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.checks.measure.bounded import Places
    from twinloop.checks.measure.values import ColumnValues
    from twinloop.checks.subject import RecordingSubject
    from twinloop.core.stream import Stream

_FIX = "exclude the span, and find why the driver emits it"


@dataclass(frozen=True, slots=True)
class Limits:
    """`listed` places for each column and element."""

    listed: int = 10


@rule(
    code="SIG001",
    name="not_finite",
    severity=Severity.ERROR,
    scope=Scope.RECORDING,
    needs=(Need.VALUES,),
    since="0.1",
)
def not_finite(subject: RecordingSubject, limits: Limits) -> Iterator[Broken]:
    for seen in subject.observed.values():
        for column in seen.values.columns if seen.values else ():
            never = [d for d, missing in enumerate(column.missing.tolist()) if missing == column.rows]
            if never:
                yield _never_measured(subject, seen.stream, column, never)
            for element, places in sorted(column.not_finite.items()):
                if element not in never:
                    yield from _places(subject, seen.stream, column, element, places, limits)


def _never_measured(
    subject: RecordingSubject, stream: Stream, column: ColumnValues, elements: list[int]
) -> Broken:
    names = [_element(column, element) for element in elements]
    features = subject.mapping.features if subject.mapping else ()
    used = any(f.stream == stream.name and f.field in (None, column.column) for f in features)
    return Broken(
        message=f"{column.column} is NaN in all {count(column.rows, 'sample')}: {few(names)}",
        fix="take another field, or leave the column out",
        severity=Severity.ERROR if used else Severity.INFO,
        stream=stream.name,
        value=float(column.rows),
        limit=0.0,
        unit="sample",
        where=Where(file=subject.path, stream=stream.name, row=0),
    )


def _places(
    subject: RecordingSubject,
    stream: Stream,
    column: ColumnValues,
    element: int,
    places: Places,
    limits: Limits,
) -> Iterator[Broken]:
    what = f"{column.column} of {_element(column, element)}" if element >= 0 else column.column
    for row, start, end, rows in islice(runs(places), limits.listed):
        more = f", {places.total} in all" if places.total > rows else ""
        yield Broken(
            message=f"{what} is not finite in {count(rows, 'sample')}{more}",
            fix=_FIX,
            stream=stream.name,
            start_ns=start,
            end_ns=end,
            value=float(rows),
            limit=0.0,
            unit="sample",
            where=Where(file=subject.path, stream=stream.name, row=row),
        )


def _element(column: ColumnValues, element: int) -> str:
    return column.names[element] if column.names else f"element {element}"
