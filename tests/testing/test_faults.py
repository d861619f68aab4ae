"""Each planted defect is in the recording where the truth says, and nowhere else."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mcap.exceptions import McapError
from mcap.reader import make_reader

from twinloop.core.errors import TwinloopError
from twinloop.testing import faults, file_faults
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import FOLLOWER, LEADER, WRIST, SessionSpec, record_session, simulate

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.testing.track import Track

SPEC = SessionSpec(duration_s=4, cameras=(CameraSpec("wrist", 15, 64, 48),))


def planted(fault: faults.Fault, stream: str) -> tuple[Track, Track, faults.Planted]:
    before, _ = simulate(SPEC)
    after, _ = simulate(SPEC)
    truth = fault.plant(after)
    for topic, track in before.items():
        if topic != stream:
            np.testing.assert_array_equal(track.stamp_ns, after[topic].stamp_ns)
    assert truth.fault == type(fault).__name__
    assert truth.stream == stream
    return before[stream], after[stream], truth


def test_dropped_samples_leave_a_gap_between_sound_ones() -> None:
    before, after, truth = planted(faults.DroppedSamples(WRIST, 2.0, 0.5), WRIST)
    assert len(before) - len(after) == truth.value
    widest = int(np.argmax(np.diff(after.stamp_ns)))
    assert (truth.start_ns, truth.end_ns) == tuple(after.stamp_ns[widest : widest + 2])
    assert np.diff(after.seq).max() == truth.value + 1


def test_frozen_images_repeat_their_bytes() -> None:
    _, after, truth = planted(faults.FrozenImages(WRIST, 1.0, 0.5), WRIST)
    assert after.pictures is not None
    images = list(after.pictures(after.values["content_s"]))
    same = np.array([a == b for a, b in pairwise(images)])
    assert same.sum() == truth.value
    rows = np.flatnonzero(same)
    assert after.stamp_ns[rows[0]] == truth.start_ns
    assert after.stamp_ns[rows[-1] + 1] == truth.end_ns


def test_drift_and_steps_of_the_clock() -> None:
    before, after, _ = planted(faults.ClockDrift(LEADER, 200), LEADER)
    late = after.stamp_ns - before.stamp_ns
    assert late[0] == 0
    assert late[-1] == pytest.approx((before.stamp_ns[-1] - before.stamp_ns[0]) * 200e-6, abs=1)
    before, after, truth = planted(faults.ClockStep(LEADER, 2.0, -30), LEADER)
    stepped = after.stamp_ns != before.stamp_ns
    assert set((after.stamp_ns - before.stamp_ns)[stepped]) == {-30_000_000}
    assert before.stamp_ns[np.argmax(stepped) - 1] == truth.start_ns


def test_late_start_and_early_end() -> None:
    _, after, _ = planted(faults.LateStart(WRIST, 1.0), WRIST)
    assert after.true_s.min() >= 1.0
    before, after, _ = planted(faults.EarlyEnd(WRIST, 1.0), WRIST)
    assert after.true_s.max() <= before.true_s.max() - 1.0


def test_joint_values() -> None:
    _, after, truth = planted(faults.JointStuck(FOLLOWER, "elbow_pitch", 1.0, 1.0), FOLLOWER)
    rows = (after.stamp_ns >= truth.start_ns) & (after.stamp_ns <= truth.end_ns)
    assert np.ptp(after.values["position"][rows, 2]) == 0
    assert truth.element == "elbow_pitch"
    before, after, truth = planted(faults.NanBurst(FOLLOWER, "gripper", 1.0, 7), FOLLOWER)
    assert np.isnan(after.values["position"]).sum() == truth.value == 7
    before, after, truth = planted(faults.Spike(FOLLOWER, "gripper", 1.0, 0.5), FOLLOWER)
    off = np.argwhere(after.values["position"] != before.values["position"])
    assert off[:, 1].tolist() == [6]
    assert after.stamp_ns[off[0, 0]] == truth.start_ns


def test_stamps_out_of_order_repeated_missing() -> None:
    _, after, truth = planted(faults.ReorderedStamps(FOLLOWER, 2.0, 5), FOLLOWER)
    assert (np.diff(after.stamp_ns) < 0).sum() == truth.value - 1
    _, after, truth = planted(faults.RepeatedStamps(FOLLOWER, 2.0, 5), FOLLOWER)
    assert (np.diff(after.stamp_ns) == 0).sum() == truth.value
    _, after, truth = planted(faults.ZeroStamps(FOLLOWER, 2.0, 0.2), FOLLOWER)
    assert (after.stamp_ns == 0).sum() == truth.value


def test_jitter_lag_stall_and_low_rate() -> None:
    before, after, _ = planted(faults.Jitter(WRIST, 8), WRIST)
    assert np.std(np.diff(after.stamp_ns)) > 3 * np.std(np.diff(before.stamp_ns))
    before, after, _ = planted(faults.Lag(FOLLOWER, 150), FOLLOWER)
    assert set(after.stamp_ns - before.stamp_ns) == {150_000_000}
    before, after, truth = planted(faults.LogStall(LEADER, 1.0, 0.5), LEADER)
    assert np.diff(after.log_ns).max() > 0.45e9
    np.testing.assert_array_equal(before.stamp_ns, after.stamp_ns)
    before, after, truth = planted(faults.LowRate(LEADER, 4), LEADER)
    assert truth.value == 25
    assert len(after) == -(-len(before) // 4)


def test_faults_compose_and_stay_where_they_are() -> None:
    tracks, _ = simulate(SPEC)
    first = faults.NanBurst(FOLLOWER, "gripper", 3.0, 4).plant(tracks)
    faults.DroppedSamples(FOLLOWER, 1.0, 0.5).plant(tracks)
    track = tracks[FOLLOWER]
    bad = np.flatnonzero(np.isnan(track.values["position"]).any(axis=1))
    assert track.stamp_ns[bad[0]] == first.start_ns


def test_a_defect_is_never_planted_without_effect() -> None:
    tracks, _ = simulate(SPEC)
    with pytest.raises(TwinloopError, match="no stream"):
        faults.LateStart("/head", 1).plant(tracks)
    with pytest.raises(TwinloopError, match="no sample"):
        faults.DroppedSamples(WRIST, 99, 1).plant(tracks)
    with pytest.raises(TwinloopError, match="no joint"):
        faults.JointStuck(FOLLOWER, "knee").plant(tracks)


class TestDamage:
    spec = SessionSpec(duration_s=2, cameras=(), chunk_bytes=60_000, compression="lz4")

    def record(self, folder: Path, damage: file_faults.Damage) -> tuple[Path, faults.Planted, int]:
        sound = record_session(folder / "sound.mcap", self.spec)
        path = folder / "damaged.mcap"
        path.write_bytes(sound.path.read_bytes())
        return path, damage.damage(path), sum(sound.counts.values())

    def test_a_corrupt_chunk_loses_the_messages_that_truth_names(self, tmp_path: Path) -> None:
        path, truth, total = self.record(tmp_path, file_faults.CorruptChunk(1))
        with path.open("rb") as file:
            reader = make_reader(file, validate_crcs=True)
            chunks = reader.get_summary().chunk_indexes
            assert chunks[1].chunk_start_offset == truth.byte
            with pytest.raises(Exception):  # noqa: B017 (lz4 or CRC, whichever sees it first)
                list(reader.iter_messages())
        with (tmp_path / "sound.mcap").open("rb") as file:
            times = [m.log_time for _, _, m in make_reader(file).iter_messages()]
        inside = [t for t in times if truth.start_ns <= t <= truth.end_ns]
        assert len(inside) == truth.value < total

    def test_truncation_and_a_missing_summary(self, tmp_path: Path) -> None:
        path, truth, _ = self.record(tmp_path, file_faults.Truncated(0.5))
        assert path.stat().st_size == truth.value == truth.byte
        path, _, _ = self.record(tmp_path, file_faults.NoSummary())
        with path.open("rb") as file, pytest.raises(McapError):
            make_reader(file).get_summary()

    def test_lying_counts_change_the_statistics_alone(self, tmp_path: Path) -> None:
        path, _, total = self.record(tmp_path, file_faults.LyingCounts(FOLLOWER, 7))
        with path.open("rb") as file:
            reader = make_reader(file)
            assert reader.get_summary().statistics.message_count == total + 7
            assert sum(1 for _ in reader.iter_messages()) == total

    def test_flipped_bytes(self, tmp_path: Path) -> None:
        path, truth, _ = self.record(tmp_path, file_faults.FlippedBytes(3, seed=1))
        sound, damaged = (np.frombuffer(p.read_bytes(), np.uint8) for p in (tmp_path / "sound.mcap", path))
        differ = np.flatnonzero(sound != damaged)
        assert len(differ) == truth.value
        assert differ[0] == truth.byte
