"""Keyframes are where decoding can begin, not where a container says so."""

from __future__ import annotations

import numpy as np
import pytest
from export_lab import DatasetView, at_rate

from twinloop.deliver.bitstream import is_entry
from twinloop.deliver.entries import entry_index
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rows import CameraClock
from twinloop.formats.video.probe import packet_index

REFRESH = {"g": "10", "x264-params": "intra-refresh=1:bframes=0:scenecut=0", "preset": "veryfast", "crf": "18"}
CLOSED = {"g": "10", "bf": "0", "preset": "veryfast", "x264-params": "scenecut=0"}


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts"])
def test_instantaneous_refreshes_are_entries(lab, name):
    video = lab.video(name, 40, options=CLOSED)
    assert np.flatnonzero(entry_index(str(video)).keyframe).tolist() == [0, 10, 20, 30]


def test_hevc_and_av1_keyframes_are_entries(lab):
    hevc = {"x265-params": "bframes=0:keyint=10:min-keyint=10:scenecut=0:log-level=none"}
    assert entry_index(str(lab.video("h.mp4", 40, "libx265", hevc))).keyframe.sum() == 4
    assert (
        entry_index(str(lab.video("v.mkv", 40, "libsvtav1", {"g": "10", "preset": "12"}))).keyframe.sum() == 4
    )


def test_recovery_points_are_none(lab):
    video = lab.video("r.mkv", 40, options=REFRESH)
    assert packet_index(video).keyframe.sum() > 1  # so says the container
    assert np.flatnonzero(entry_index(str(video)).keyframe).tolist() == [0]


def test_a_cut_into_a_gradual_refresh_keeps_all_it_needs(lab):
    times = at_rate(60, 30.0)
    video = lab.video("r.mkv", 60, options=REFRESH)
    middle = int(times[35]) - 1
    source = lab.source({"top": lab.camera([video], times)}, spans=[(middle, middle + 10**10)])
    export_lerobot([source], lab.folder / "out", ExportOptions(CameraClock("top")))
    view = DatasetView(lab.folder / "out")
    assert view.numbers("observation.images.top", 0) == [k % 26 for k in range(35, 60)]
    assert view.account["cameras"]["observation.images.top"]["unreferenced_lead_images"] == 35


def test_units_are_read_in_both_framings():
    idr, other = bytes([0x65, 1, 2]), bytes([0x41, 3])
    assert is_entry("h264", b"\0\0\0\3" + idr, start_codes=False)
    assert is_entry("h264", b"\0\0\0\1" + other + b"\0\0\1" + idr, start_codes=True)
    assert not is_entry("h264", b"\0\0\0\2" + other, start_codes=False)
    assert is_entry("hevc", b"\0\0\0\2" + bytes([19 << 1, 1]), start_codes=False)
    assert not is_entry("hevc", b"\0\0\0\2" + bytes([1 << 1, 1]), start_codes=False)
    assert is_entry("av1", b"anything", start_codes=False)
