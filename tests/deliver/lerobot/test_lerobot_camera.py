"""A camera is remuxed on four conditions, and re-encoded for a stated reason otherwise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from export_lab import START_NS, X264, at_rate

from twinloop.deliver.align import Align
from twinloop.deliver.images import read_images
from twinloop.deliver.lerobot.camera import CameraRules, Why, plan_camera
from twinloop.deliver.rows import RowSpan
from twinloop.formats.video.probe import packet_index
from twinloop.testing.memory import MemoryRecording

HALF_PERIOD_NS = int(0.5e9 / 30)


def table_of(lab, videos, times):
    return read_images(MemoryRecording([lab.camera(videos, times)]), "camera")


def plan(table, row_ns, **rules):
    return plan_camera(table, RowSpan(row_ns), CameraRules(30, **rules), cache(packet_index))


@pytest.mark.parametrize(
    ("encoder", "options"),
    [
        ("libx264", X264),
        ("libx265", {"x265-params": "bframes=0:keyint=10:log-level=none", "preset": "ultrafast"}),
        ("libsvtav1", {"g": "10", "preset": "12", "crf": "30"}),
    ],
)
def test_the_three_codecs_are_remuxed(lab, encoder, options):
    times = at_rate(20, 30.0)
    planned = plan(table_of(lab, [lab.video("a.mp4", 20, encoder, options)], times), times)
    assert planned.remuxed
    assert [(run.first, run.stop) for run in planned.runs] == [(0, 20)]
    assert (planned.lead, planned.grid_error_ns, planned.dropped, planned.duplicated) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("why", "encoder", "options", "pix_fmt"),
    [
        (Why.CODEC, "ffv1", {}, "bgr0"),
        (Why.PIX_FMT, "libx264", X264, "yuv444p"),
        (Why.PIX_FMT, "libx264", X264, "yuvj420p"),
        (Why.B_FRAMES, "libx264", {"g": "10", "x264-params": "bframes=2:b-adapt=0:scenecut=0"}, "yuv420p"),
        (Why.MJPEG, "mjpeg", {"strict": "unofficial"}, "yuvj420p"),
    ],
)
def test_other_streams_are_re_encoded(lab, why, encoder, options, pix_fmt):
    times = at_rate(20, 30.0)
    planned = plan(table_of(lab, [lab.video("a.mkv", 20, encoder, options, pix_fmt)], times), times)
    assert set(planned.reasons) == {why}
    assert (planned.images == np.arange(20)).all()


def test_mjpeg_is_remuxed_when_kept(lab):
    times = at_rate(20, 30.0)
    video = lab.video("a.mp4", 20, "mjpeg", {"strict": "unofficial"}, "yuvj420p")
    planned = plan(table_of(lab, [video], times), times, keep_mjpeg=True)
    assert planned.remuxed
    assert planned.gop == 1


def test_another_camera_within_half_a_period_is_remuxed(lab):
    rows = at_rate(20, 30.0)
    for shift in (HALF_PERIOD_NS - 10, 10 - HALF_PERIOD_NS):
        planned = plan(table_of(lab, [lab.video("a.mp4", 20)], rows + shift), rows)
        assert planned.remuxed
        assert planned.after_ns == max(shift, 0)
        assert planned.before_ns == max(-shift, 0)
        assert planned.grid_error_ns == abs(shift)


def test_one_image_over_half_a_period_off_re_encodes(lab):
    rows = at_rate(20, 30.0)
    times = rows.copy()
    times[12] -= HALF_PERIOD_NS + 2_000_000
    planned = plan(table_of(lab, [lab.video("a.mp4", 20)], times), rows)
    assert not planned.remuxed
    assert set(planned.reasons) <= {Why.SHIFTED, Why.DROPPED, Why.DUPLICATED}


def test_causal_rules_out_images_after_their_row(lab):
    rows = at_rate(20, 30.0)
    table = table_of(lab, [lab.video("a.mp4", 21)], at_rate(21, 30.0, int(rows[0]) - 33_000_000))
    planned = plan(table, rows, causal=True)
    assert Why.FUTURE in planned.reasons
    assert (table.times_ns[planned.images] <= rows).all()
    early = table_of(lab, [lab.video("b.mp4", 20)], rows - 5_000_000)
    assert plan(early, rows, causal=True).remuxed


def test_a_dropped_image_re_encodes_and_the_row_holds_the_one_before(lab):
    rows = at_rate(20, 30.0)
    planned = plan(table_of(lab, [lab.video("a.mp4", 19)], np.delete(rows, 9)), rows)
    assert Why.DUPLICATED in planned.reasons
    assert planned.duplicated == 1
    assert planned.images.tolist() == [*range(9), 8, *range(9, 19)]


def test_images_that_no_row_shows_re_encode(lab):
    times = at_rate(40, 60.0)
    planned = plan(table_of(lab, [lab.video("a.mp4", 40)], times), times[::2])
    assert {Why.RATE, Why.DROPPED} <= set(planned.reasons)
    assert planned.dropped == 19
    assert planned.images.tolist() == list(range(0, 40, 2))


def test_a_packet_that_no_row_of_the_table_names_re_encodes(lab):
    times = at_rate(20, 30.0)
    table = table_of(lab, [lab.video("a.mp4", 20)], times)
    keep = np.arange(20) != 10
    holed = replace(table, times_ns=at_rate(19, 30.0), segment=table.segment[keep], pts=table.pts[keep])
    assert set(plan(holed, holed.times_ns).reasons) == {Why.DROPPED}
    wrong = replace(table, pts=table.pts + 1)
    assert set(plan(wrong, times).reasons) == {Why.PACKETS}


@pytest.mark.parametrize(("first", "lead"), [(10, 0), (13, 3), (19, 9)])
def test_a_cut_off_a_keyframe_keeps_the_images_from_it_on_as_a_lead(lab, first, lead):
    times = at_rate(40, 30.0)
    planned = plan(table_of(lab, [lab.video("a.mp4", 40)], times), times[first:30])
    assert planned.remuxed
    assert planned.lead == lead
    assert [(run.first, run.stop) for run in planned.runs] == [(10, 30)]
    assert planned.gop == 10


def test_an_episode_over_two_files_is_remuxed_where_the_second_begins_on_a_keyframe(lab):
    times = at_rate(40, 30.0)
    table = table_of(lab, [lab.video("a.mp4", 20), lab.video("b.mp4", 20, first=20)], times)
    planned = plan(table, times[5:35])
    assert planned.remuxed
    assert [(run.first, run.stop) for run in planned.runs] == [(0, 20), (0, 15)]
    assert planned.lead == 5


def test_parameter_sets_that_change_within_an_episode_re_encode(lab):
    times = at_rate(40, 30.0)
    other = lab.video("b.mp4", 20, options=X264 | {"preset": "medium", "refs": "4"}, first=20)
    table = table_of(lab, [lab.video("a.mp4", 20), other], times)
    assert set(plan(table, times).reasons) == {Why.PARAMETERS}


def test_resampled_and_filled_rows_re_encode(lab):
    times = at_rate(20, 30.0)
    table = table_of(lab, [lab.video("a.mp4", 20)], times)
    packets = cache(packet_index)
    filled = plan_camera(table, RowSpan(times, filled=2), CameraRules(30), packets)
    assert set(filled.reasons) == {Why.GAPS_KEPT}
    resampled = plan_camera(table, RowSpan(times, resampled="off"), CameraRules(30), packets)
    assert resampled.reasons == {Why.RATE: "off"}
    assert Why.ASKED in plan(table, times, reencode=True).reasons


HEVC = {"x265-params": "bframes=0:keyint=10:min-keyint=10:scenecut=0:log-level=none", "preset": "ultrafast"}


def test_without_a_lead_the_images_up_to_the_next_keyframe_are_re_encoded(lab):
    times = at_rate(40, 30.0)
    table = table_of(lab, [lab.video("a.mp4", 40)], times)
    planned = plan(table, times[13:35], keep_lead=False)
    assert planned.remuxed
    assert (planned.lead, planned.head) == (0, 7)
    assert [(run.first, run.stop) for run in planned.runs] == [(20, 35)]
    assert plan(table, times[10:35], keep_lead=False).head == 0
    within_a_group = plan(table, times[13:18], keep_lead=False)
    assert set(within_a_group.reasons) == {Why.NO_KEYFRAME}


def test_without_a_lead_other_codecs_are_re_encoded_whole(lab):
    times = at_rate(40, 30.0)
    table = table_of(lab, [lab.video("a.mp4", 40, "libx265", HEVC)], times)
    assert plan(table, times[13:35]).lead == 3
    assert set(plan(table, times[13:35], keep_lead=False).reasons) == {Why.NO_KEYFRAME}


def test_long_episodes_keep_no_lead(lab, monkeypatch):
    monkeypatch.setattr("twinloop.deliver.lerobot.camera.LONGEST_FILE_S", 1)
    times = at_rate(60, 30.0)
    table = table_of(lab, [lab.video("a.mp4", 60)], times)
    assert plan(table, times[5:55]).head == 5
    assert plan(table, times[10:55]).head == 0
    hevc = table_of(lab, [lab.video("b.mp4", 60, "libx265", HEVC)], times)
    assert set(plan(hevc, times[5:55]).reasons) == {Why.LENGTH}


def test_nearest_takes_the_nearest_image(lab):
    rows = at_rate(20, 30.0)
    times = np.delete(rows + 5_000_000, 7)
    table = table_of(lab, [lab.video("a.mp4", 19)], times)
    assert plan(table, rows[1:]).images.tolist() == [*range(7), 6, *range(7, 18)]
    assert plan(table, rows[1:], align=Align.NEAREST).images.tolist() == [*range(1, 7), 6, *range(7, 19)]


def test_times_before_the_first_image_have_none(lab):
    rows = at_rate(20, 30.0, START_NS - 10**9)
    table = table_of(lab, [lab.video("a.mp4", 20)], at_rate(20, 30.0))
    assert (plan(table, rows).images == -1).all()
