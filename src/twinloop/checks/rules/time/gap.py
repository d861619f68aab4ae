"""Samples are missing: the time between two is longer than the stream's own period.

## What it does

Reports every place where a stream that samples at a rate is silent for longer than it should be, with the
number of samples that are missing there.

## Why it matters

At a gap, a policy is shown an old observation as if it were new. Exports to a fixed rate fill the gap with
repeats, and nobody sees it afterwards.

## How it is measured

Samples are put in order of time. The period is the median interval (of the episode; of the whole stream
where the episode is short). An interval is a gap if it is longer than `periods` periods and longer than the
period plus six standard deviations of the stream's own jitter, and if samples are missing there on balance:
intervals that are made up for by short ones after them are late, not lost (rule TIM005). The number lost is
the interval in periods, less what was made up for, less one; it must stand out of the jitter (four standard
deviations). Where the producer counts its samples, its count is taken. The value is the interval, the limit
the longest that was allowed.

A gap is an error if it lasts longer than `long_s`, or if an episode lost more than `share` of the stream's
samples; else a warning. Jumps of a clock that was set are no gaps (rule TIM014). Streams of a grid are not
judged: their times cannot show a gap. Streams that speak when something happens are not judged either.

## Example

A camera at 30 Hz lost 10 images: `TIM004 silent for 367 ms where one sample every 33.3 ms is the rule: 10
samples are missing (0.9 % of this stream's in the episode)`.

## Repair

Exclude the episode or cut it at the gap (`twinloop export` does so at gaps of the camera that is its clock).
Look for the reason: a full queue, a saturated USB or network link, a recorder that could not write as fast.

## Tuning

- `periods`: from how many periods on an interval is a gap (1.5).
- `long_s`: from how many seconds on a gap is an error (0.5).
- `share`: share of lost samples from which on all gaps of the stream in the episode are errors (0.05).
- `listed`: gaps that are listed for each stream and episode, the longest; the others are counted (10).

## References

- lerobot-doctor: 1.5 periods; lerobot-lint: error over 5 % of frames; physlint: 2 periods at 30 Hz
- GB/Z 218.1-2026, as reported by robot-data-audit: consecutive frame loss at most 1 %
- lerobot pull requests 4462 and 4533: images dropped without a word
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.rule import Broken, Need, Scope, rule
from twinloop.checks.wording import count, duration, ms, share
from twinloop.core.errors import Where
from twinloop.core.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from twinloop.checks.measure.timing import LongIntervals, Timing
    from twinloop.checks.subject import EpisodeSubject
    from twinloop.core.stream import Stream

_FEWEST = 20  # samples of an episode from which on its own period is taken


@dataclass(frozen=True, slots=True)
class Limits:
    """`periods` periods; `long_s` seconds; `share` of samples; `listed` gaps for each stream and episode."""

    periods: float = 1.5
    long_s: float = 0.5
    share: float = 0.05
    listed: int = 10


@rule(
    code="TIM004",
    name="gap",
    severity=Severity.WARNING,
    scope=Scope.EPISODE,
    needs=(Need.TIMES,),
    since="0.1",
)
def gap(subject: EpisodeSubject, limits: Limits) -> Iterator[Broken]:
    for stream, timing in subject.continuous():
        typical = timing if timing.count >= _FEWEST else subject.observed[stream.name].timing
        limit_ns = typical.gap_limit_ns(limits.periods)
        lost = lost_samples(timing.long, typical)
        # On a recorder's times, samples that seem lost at the very end may only be late.
        told = timing.long.followed | (stream.timeline == "stamp_ns")
        steps = [step.row for step in subject.observed[stream.name].clock_steps]
        told &= ~np.isin(timing.long.row, steps)
        is_gap = (timing.long.length_ns > limit_ns) & (lost > 0) & told
        gaps, lost = timing.long.where(is_gap), lost[is_gap]
        if len(gaps):
            yield from _gaps(subject, stream, timing, typical, gaps, lost, limit_ns, limits)


def lost_samples(long: LongIntervals, typical: Timing) -> NDArray[np.int64]:
    """Samples missing in each long interval (L,), by the producer's count where it shows a loss."""
    if not len(long):
        return np.empty(0, np.int64)
    periods = long.length_ns / typical.period_ns
    # The period is a measurement: over a long interval, 2 % of it may be its error. Jitter of the samples
    # around the interval looks like parts of a lost one.
    doubt = np.maximum(0.02 * periods, 4 * typical.jitter_ns / typical.period_ns)
    sure = long.excess >= np.maximum(0.6, doubt)
    estimate = np.where(sure, np.minimum(np.rint(long.excess), np.rint(periods) - 1), 0).astype(np.int64)
    alike = np.abs(long.lost_seq - long.excess) <= np.maximum(1.0, 0.3 * periods)
    believable = (long.lost_seq > 0) & alike & (long.lost_seq < periods + 0.5)
    return np.where(believable, long.lost_seq, estimate)


def _gaps(
    subject: EpisodeSubject,
    stream: Stream,
    timing: Timing,
    typical: Timing,
    gaps: LongIntervals,
    lost: NDArray[np.int64],
    limit_ns: float,
    limits: Limits,
) -> Iterator[Broken]:
    all_lost = int(lost.sum())
    expected = timing.count + all_lost
    many = all_lost > limits.share * expected
    longest = np.sort(np.argsort(-gaps.length_ns, kind="stable")[: limits.listed])
    for i in longest:
        length = float(gaps.length_ns[i])
        message = (
            f"silent for {duration(length)} where one sample every {duration(typical.period_ns)} is the rule: "
            f"{count(int(lost[i]), 'sample')} missing"
        )
        if len(gaps) > 1:
            message += (
                f"; in {len(gaps)} gaps {all_lost} are missing, {share(all_lost, expected)} of the stream's"
            )
        counted = gaps.lost_seq[i] == lost[i]
        yield Broken(
            message=message,
            fix="exclude the episode or cut it here; look for a full queue or a saturated link",
            severity=Severity.ERROR if many or length > limits.long_s * 1e9 else None,
            stream=stream.name,
            start_ns=int(gaps.start_ns[i]),
            end_ns=int(gaps.end_ns[i]),
            value=ms(length),
            limit=ms(limit_ns),
            unit="ms",
            confidence=1.0 if counted else 0.9,
            where=Where(file=subject.path, stream=stream.name, row=int(gaps.row[i])),
        )
