"""Depth takes LeRobot's 12-bit form and comes back within a step."""

from __future__ import annotations

from functools import cache

import av
import numpy as np
from export_lab import at_rate

from twinloop.core.kinds import Kind
from twinloop.deliver.images import read_images
from twinloop.deliver.lerobot.depth import to_codes, to_millimetres
from twinloop.deliver.lerobot.encode import encode_rows, encoder_for
from twinloop.formats.video.probe import packet_index
from twinloop.testing.memory import MemoryRecording


def test_codes_follow_the_formula_at_known_depths():
    # round(4095 * (ln(d + 3500) - ln 3510) / (ln 13500 - ln 3510)), d in mm
    assert to_codes(np.array([0, 10, 500, 1000, 5000, 10_000, 65_535], np.uint16)).tolist() == [
        0,
        0,
        397,
        755,
        2689,
        4095,
        4095,
    ]


def test_depths_come_back_within_half_a_step():
    depth = np.arange(10, 10_001, dtype=np.uint16)
    error = np.abs(to_millimetres(to_codes(depth)).astype(int) - depth)
    step = 1.347 / 4095 * (depth + 3500.0)
    assert (error <= step / 2 + 1).all()


def test_depth_video_is_lossless_hevc_of_12_bits(lab, tmp_path):
    video = lab.video("d.mkv", 6, "ffv1", {}, "gray16le")
    table = read_images(MemoryRecording([lab.camera([video], at_rate(6, 30.0), Kind.DEPTH)]), "camera")
    encode_rows(
        table,
        np.array([0, 1, 1, 4, 5]),
        tmp_path / "o.mp4",
        30,
        encoder_for("h264"),
        cache(packet_index),
        depth=True,
    )
    index = packet_index(tmp_path / "o.mp4")
    assert (index.codec, index.pix_fmt) == ("hevc", "gray12le")
    with av.open(str(tmp_path / "o.mp4")) as container:
        codes = [picture.to_ndarray(format="gray12le") for picture in container.decode(video=0)]
    for number, shown in zip([0, 1, 1, 4, 5], codes, strict=True):
        assert (shown == to_codes(lab.pixels(number, deep=True))).all()
