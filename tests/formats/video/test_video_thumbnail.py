"""Thumbnails of streams whose images come as bytes: stills, raw pixels, and packets coded between images."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pytest
from clips import HEIGHT, WIDTH, depth_image, number_of, numbered, write_clip

from twinloop.core.kinds import Kind
from twinloop.core.recording import Recording
from twinloop.core.stream import Batch, Payload, Stream
from twinloop.formats.video.still import encode_still
from twinloop.formats.video.thumbnail import thumbnails

COUNT = 30
PERIOD_NS = 100_000_000


class Images(Recording):
    """A recording of one stream of images, in batches of seven, as a container of messages gives them."""

    def __init__(self, encoding: str, messages: list[bytes], kind: Kind = Kind.IMAGE, indexed: bool = True):
        times = range(0, len(messages) * PERIOD_NS, PERIOD_NS)
        stream = Stream(
            "cam",
            kind,
            count=len(messages),
            start_ns=0 if indexed else None,
            end_ns=times[-1] if indexed else None,
        )
        super().__init__(Path("none"), "test", files=(), streams={"cam": stream})
        self._rows = list(zip(times, messages, strict=True))
        self._encoding = encoding

    def scan(self, streams=None, *, start_ns=None, end_ns=None, payload=True):
        rows = [
            (t, m)
            for t, m in self._rows
            if (start_ns is None or t >= start_ns) and (end_ns is None or t < end_ns)
        ]
        for first in range(0, len(rows), 7):
            part = rows[first : first + 7]
            lengths = np.array([len(m) for _, m in part], np.int64)
            n = len(part)
            columns = {
                "log_ns": pa.array([t for t, _ in part]),
                "width": pa.array([WIDTH] * n, pa.int32()),
                "height": pa.array([HEIGHT] * n, pa.int32()),
                "encoding": pa.array([self._encoding] * n).dictionary_encode(),
            }
            buffer = np.frombuffer(b"".join(m for _, m in part), np.uint8)
            bulk = Payload(buffer, np.cumsum(lengths) - lengths, lengths) if payload else None
            yield Batch("cam", pa.RecordBatch.from_pydict(columns), bulk)


def images():
    return [numbered(k) for k in range(COUNT)]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("encoding", "message"),
    [("jpeg", encode_still), ("png", lambda i: encode_still(i, "png")), ("rgb8", lambda i: i.tobytes())],
)
def test_stills_and_raw_pixels(encoding, message, indexed):
    recording = Images(encoding, [message(image) for image in images()], indexed=indexed)
    small = thumbnails(recording, "cam", 3)
    assert [(time // PERIOD_NS, number_of(image)) for time, image in small] == [(0, 0), (10, 10), (20, 20)]


def test_a_broken_image_gives_way_to_the_next():
    messages = [encode_still(image) for image in images()]
    messages[0] = b"\xff\xd8 broken"
    ((time, image),) = thumbnails(Images("jpeg", messages), "cam", 1)
    assert (time, number_of(image)) == (PERIOD_NS, 1)


@pytest.mark.parametrize(("codec", "name"), [("libx264", "h264"), ("libsvtav1", "av1")])
def test_packets_coded_between_images(tmp_path, codec, name):
    path = tmp_path / "clip.mkv"
    options = {"bf": "0", "g": "10"} if codec == "libx264" else {"svtav1-params": "pred-struct=1"}
    write_clip(path, images(), codec, fps=10, options=options)
    with av.open(str(path)) as container:
        track = container.streams.video[0]
        if name == "h264":
            annexb = av.BitStreamFilterContext("h264_mp4toannexb", track)
            packets = [bytes(p) for source in container.demux(track) for p in annexb.filter(source)]
        else:
            packets = [bytes(p) for p in container.demux(track) if p.size]
    small = thumbnails(Images(name, packets), "cam", 2)
    assert len(small) == 2
    assert all(number_of(image) == time // PERIOD_NS for time, image in small)


def test_depth_is_shown_as_gray():
    messages = [depth_image(k).tobytes() for k in range(4)]
    ((_, image),) = thumbnails(Images("16UC1", messages, Kind.DEPTH), "cam", 1, width=48)
    assert image.shape == (32, 48, 3) and image.dtype == np.uint8
    assert image.std() > 10


def test_nothing_is_asked_for():
    recording = Images("jpeg", [encode_still(image) for image in images()])
    assert thumbnails(recording, "cam", 0) == []
