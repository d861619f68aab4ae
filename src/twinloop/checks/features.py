"""The features of state and action, read for several episodes at a time.

One read for each episode would pass over the recording as often as it has episodes; one for all would hold
everything. So neighbours are read together until they hold some number of samples, and an episode with more
than that is read in windows of which every n-th sample is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from twinloop.checks.commands import command_features, state_features
from twinloop.core.errors import TwinloopError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from twinloop.checks.measure.observer import Observed, Span
    from twinloop.core.clock import ClockModel
    from twinloop.core.mapping import Feature
    from twinloop.core.mapping import Mapping as FeatureMapping
    from twinloop.core.recording import Recording
    from twinloop.formats.mapping.feature import FeatureSamples

_ROWS = 300_000  # samples of one feature held at a time

Samples = dict[str, "FeatureSamples"]


@dataclass
class EpisodeFeatures:
    """Gives the samples of one episode after the other; ask in the order of time.

    Attributes:
        wanted: False: no rule needs features; nothing is read.
    """

    recording: Recording
    mapping: FeatureMapping | None
    observed: Mapping[str, Observed]
    models: tuple[ClockModel, ...]
    wanted: bool = True
    unread: dict[str, str] = field(default_factory=dict)
    _held: Samples = field(default_factory=dict)
    _held_until: int | None = None

    def __post_init__(self) -> None:
        features = [*state_features(self.mapping), *command_features(self.mapping)] if self.wanted else []
        self._features = {feature.name: feature for feature in features}

    def of(self, span: Span | None, spans: Sequence[Span]) -> tuple[Samples, dict[str, str]]:
        """The samples in one episode (None: in the whole recording) by feature, and why some are missing."""
        if not self._features:
            return {}, self.unread
        if self._most_rows(span) > _ROWS:
            return self._thinned(span), self.unread
        if span is None:
            return self._read(None, None), self.unread
        if self._held_until is None or span.end_ns > self._held_until:
            self._read_group(span, spans)
        return {name: _cut(samples, span) for name, samples in self._held.items()}, self.unread

    def _most_rows(self, span: Span | None) -> int:
        rows = 0
        for feature in self._features.values():
            seen = self.observed.get(feature.stream)
            timing = seen and (seen.timing if span is None else seen.episodes.get(span.index))
            rows = max(rows, timing.count if timing else 0)
        return rows

    def _read_group(self, first: Span, spans: Sequence[Span]) -> None:
        end, rows = first.end_ns, self._most_rows(first)
        for span in sorted(spans, key=lambda span: span.start_ns):
            if span.start_ns < first.start_ns or span == first:
                continue
            rows += self._most_rows(span)
            if rows > _ROWS:
                break
            end = max(end, span.end_ns)
        self._held = self._read(first.start_ns, end)
        self._held_until = end

    def _thinned(self, span: Span | None) -> Samples:
        """Every n-th sample of a long episode, read window by window."""
        parts = -(-self._most_rows(span) // _ROWS)
        start, end = (span.start_ns, span.end_ns) if span else self._extent()
        bounds = np.linspace(start, end, parts + 1).astype(np.int64).tolist()
        bounds[0], bounds[-1] = start, end
        windows = [self._read(a, b) for a, b in pairwise(bounds)]
        return {
            name: _join([window[name] for window in windows if name in window], parts) for name in windows[0]
        }

    def _extent(self) -> tuple[int, int]:
        timings = [self.observed[feature.stream].timing for feature in self._features.values()]
        return min(t.first_ns for t in timings), max(t.last_ns for t in timings) + 1

    def _read(self, start_ns: int | None, end_ns: int | None) -> Samples:
        from twinloop.formats.mapping.feature import read_features

        features = list(self._features.values())
        try:
            return read_features(self.recording, features, start_ns, end_ns, models=self.models)
        except TwinloopError:
            return self._read_singly(features, start_ns, end_ns)

    def _read_singly(self, features: list[Feature], start_ns: int | None, end_ns: int | None) -> Samples:
        """Each by itself: one that the recording does not fit must not take the others along."""
        from twinloop.formats.mapping.feature import read_feature

        samples = {}
        for feature in features:
            try:
                samples[feature.name] = read_feature(
                    self.recording, feature, start_ns, end_ns, models=self.models
                )
            except TwinloopError as error:
                self.unread[feature.name] = error.what
                del self._features[feature.name]
        return samples


def _cut(samples: FeatureSamples, span: Span) -> FeatureSamples:
    from twinloop.formats.mapping.feature import FeatureSamples

    times = samples.times_ns
    first, last = np.searchsorted(times, [span.start_ns, span.end_ns])
    inside: slice | NDArray[np.bool_] = slice(int(first), int(last))
    if not _in_order(times):
        inside = (times >= span.start_ns) & (times < span.end_ns)
    return FeatureSamples(times[inside], samples.values[inside], samples.names)


def _in_order(times: NDArray[np.int64]) -> bool:
    return bool((times[1:] >= times[:-1]).all())


def _join(windows: list[FeatureSamples], every: int) -> FeatureSamples:
    from twinloop.formats.mapping.feature import FeatureSamples

    return FeatureSamples(
        np.concatenate([window.times_ns[::every] for window in windows]),
        np.concatenate([window.values[::every] for window in windows]),
        windows[0].names,
    )
