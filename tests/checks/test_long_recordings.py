"""Features of long episodes are thinned, those of neighbours read together, and clock models applied."""

from __future__ import annotations

import clean_recordings as clean
import numpy as np
import pytest

from twinloop.checks import features
from twinloop.checks.features import EpisodeFeatures
from twinloop.checks.measure.observer import Span, observe
from twinloop.checks.run import check
from twinloop.core.clock import Clock, ClockModel, Epoch
from twinloop.core.finding import Severity
from twinloop.core.mapping import Mapping
from twinloop.testing.memory import MemoryRecording, changed


class Counting(MemoryRecording):
    """Counts how often it is read."""

    scans = 0

    def scan(self, *args: object, **facts: object) -> object:  # type: ignore[override]
        self.scans += 1
        return super().scan(*args, **facts)  # type: ignore[arg-type]


def reader(
    spans: list[Span], monkeypatch: pytest.MonkeyPatch, rows: int, mapping: Mapping = clean.MAPPING
) -> tuple[Counting, EpisodeFeatures]:
    monkeypatch.setattr(features, "_ROWS", rows)
    recording = Counting(list(clean.streams().values()))
    observed = observe(recording, spans)
    recording.scans = 0
    return recording, EpisodeFeatures(recording, mapping, observed, ())


def spans(count: int, each_s: float) -> list[Span]:
    edges = clean.EPOCH_NS + (np.arange(count + 1) * each_s * 1e9).astype(np.int64)
    return [Span(k, int(edges[k]), int(edges[k + 1])) for k in range(count)]


def test_neighbours_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = spans(10, 2.0)
    recording, reading = reader(cut, monkeypatch, rows=1000)
    lengths = [len(reading.of(span, cut)[0]["action"]) for span in cut]
    assert sum(lengths) == pytest.approx(2000, abs=2)
    assert all(length == pytest.approx(200, abs=2) for length in lengths)
    assert recording.scans <= 3


def test_a_long_episode_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = spans(1, 20.0)
    recording, reading = reader(cut, monkeypatch, rows=600)
    samples, unread = reading.of(cut[0], cut)
    assert unread == {}
    assert len(samples["observation.state"]) == pytest.approx(500, abs=10)
    assert np.ptp(samples["observation.state"].times_ns) == pytest.approx(20e9, rel=0.01)
    assert recording.scans == 4


def test_the_lag_is_the_same_on_thinned_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "_ROWS", 700)
    report = check(MemoryRecording(list(clean.streams().values())), mapping=clean.MAPPING, select=["SYN004"])
    assert report.findings[0].value == pytest.approx(60, abs=3)


def test_clock_models_bring_streams_together() -> None:
    items = clean.streams()
    boot = Clock(Epoch.BOOT, "camera")
    stamps = np.asarray(items["/camera"].table.column("stamp_ns")) - clean.EPOCH_NS
    items["/camera"] = changed(items["/camera"], {"stamp_ns": stamps}, stamp_clock=boot)
    recording = clean.recording(items)
    without = check(recording, mapping=clean.MAPPING)
    assert {"SYN001"} <= {finding.code for finding in without.at_least(Severity.ERROR)}
    model = ClockModel(boot, Clock(Epoch.UNIX), (0,), (clean.EPOCH_NS,))
    report = check(recording, mapping=clean.MAPPING, clock_models=(model,))
    assert report.at_least(Severity.WARNING) == ()
