"""Packets of video codecs are remuxed as they are, and every row finds its own image again."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pyarrow as pa
import pytest

from twinloop.core.kinds import Kind
from twinloop.core.recording import Recording
from twinloop.core.stream import Batch, Payload, Stream
from twinloop.formats.video.decode import decode_images
from twinloop.formats.video.probe import packet_index
from twinloop.store.display_order import find_order, order_of
from twinloop.store.local_objects import LocalObjects
from twinloop.store.manifest import Manifest, RecordingEntry
from twinloop.store.packets import essence, read_access
from twinloop.store.places import Places
from twinloop.store.stored import StoredSession
from twinloop.store.streams import Layout, RecordingWriter, UnmuxableError

COUNT, STEP_NS, START = 24, 40_000_000, 1_767_607_200_000_000_000
_X264 = {"preset": "veryfast", "x264-params": "keyint=8:min-keyint=8:scenecut=0:repeat-headers=1"}
_X265 = "keyint=8:min-keyint=8:scenecut=0:repeat-headers=1:log-level=none:pools=1"
CODECS = {
    "h264": ("libx264", {**_X264, "tune": "zerolatency"}),
    "h265": ("libx265", {"preset": "ultrafast", "x265-params": f"{_X265}:bframes=0"}),
    "av1": ("libsvtav1", {"preset": "12", "svtav1-params": "pred-struct=1:lookahead=0:keyint=8"}),
    "vp9": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0", "g": "8"}),
}
REORDERED = {
    "h264": ("libx264", {**_X264, "bf": "3"}),
    "h265": ("libx265", {"preset": "veryfast", "x265-params": f"{_X265}:bframes=3"}),
}


def shade(image: int) -> int:
    return 20 + 9 * image


def encoded(codec: str, options: dict[str, str]) -> list[tuple[int, bytes]]:
    """(image, packet) in decode order; image k is gray of its own shade."""
    encoder = av.CodecContext.create(codec, "w")
    encoder.width, encoder.height, encoder.pix_fmt = 128, 96, "yuv420p"
    encoder.time_base, encoder.framerate = Fraction(1, 25), Fraction(25)
    encoder.options = {**options, "threads": "1"}
    packets = []
    for image in range(COUNT):
        pixels = np.full((96, 128, 3), shade(image), np.uint8)
        pixels[:, : 5 * image + 1] //= 2
        frame = av.VideoFrame.from_ndarray(pixels, "rgb24").reformat(format="yuv420p")
        frame.pts = image
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    return [(packet.pts, bytes(packet)) for packet in packets]


class PacketRecording(Recording):
    """One stream of packets, each stamped with the time of its image."""

    def __init__(self, tmp_path, encoding, packets):
        self.packets = packets
        self.encoding = encoding
        stream = Stream("cam", Kind.IMAGE, timeline="stamp_ns")
        super().__init__(tmp_path, "test", files=(), streams={"cam": stream})

    def scan(self, streams=None, *, start_ns=None, end_ns=None, payload=True):
        for some in (self.packets[:10], self.packets[10:]):
            data = [packet for _, packet in some]
            lengths = np.array([len(packet) for packet in data], np.int64)
            columns = pa.record_batch(
                {
                    "stamp_ns": pa.array([START + image * STEP_NS for image, _ in some], pa.int64()),
                    "encoding": pa.array([self.encoding] * len(some)).dictionary_encode(),
                }
            )
            buffer = np.frombuffer(b"".join(data), np.uint8)
            yield Batch("cam", columns, Payload(buffer, np.cumsum(lengths) - lengths, lengths))


def stored(tmp_path, recording, **options):
    writer = RecordingWriter(Layout(tmp_path, "S", "t"), **options)
    for batch in recording.scan():
        writer.append(recording.streams["cam"], batch)
    streams = writer.close(list(recording.streams.values()))
    entry = RecordingEntry("h", "n", "test", (), "copy", "", "", "", streams=streams)
    objects = LocalObjects(tmp_path)
    return StoredSession(Manifest("S", recordings=(entry,)), (), objects, Places(objects)), writer.notes()


def images_by_row(session):
    """Row -> the image that its pts finds, by its shade."""
    table = session.read("cam")
    found = {}
    for number, segment in enumerate(session.streams["cam"].segments):
        rows = [i for i, s in enumerate(table.column("segment").to_pylist()) if s == number]
        pts = np.array([table.column("pts")[row].as_py() for row in rows], np.int64)
        for place, image in decode_images(segment, pts):
            found[rows[place]] = round((float(image[:, -1].mean()) - 20) / 9)
    return found


@pytest.mark.parametrize("encoding", CODECS)
def test_every_row_finds_its_image(tmp_path, encoding):
    packets = encoded(*CODECS[encoding])
    session, notes = stored(tmp_path, PacketRecording(tmp_path, encoding, packets))
    assert not notes
    assert images_by_row(session) == {row: image for row, (image, _) in enumerate(packets)}
    (segment,) = session.streams["cam"].segments
    (facts,) = session.segment_facts("cam")
    assert (segment.images, segment.width, segment.height) == (COUNT, 128, 96)
    assert not facts.has_b_frames
    assert facts.keyframes == sum(session.read("cam").column("keyframe").to_pylist()) > 1
    with av.open(segment.file) as container:
        kept = [bytes(packet) for packet in container.demux(video=0) if packet.size]
    name = segment.codec
    assert [list(essence(name, p)) for p in kept] == [list(essence(name, p)) for _, p in packets]


@pytest.mark.parametrize("encoding", REORDERED)
def test_reordered_packets_are_shown_in_order_and_still_found(tmp_path, encoding):
    packets = encoded(*REORDERED[encoding])
    assert [image for image, _ in packets] != list(range(COUNT))
    recording = PacketRecording(tmp_path, encoding, packets)
    with pytest.raises(UnmuxableError) as refused:
        stored(tmp_path / "a", recording)
    assert refused.value.reordered
    order = find_order(recording, "cam")
    session, _ = stored(tmp_path / "b", recording, orders={"cam": order})
    assert images_by_row(session) == {row: image for row, (image, _) in enumerate(packets)}
    (segment,) = session.streams["cam"].segments
    index = packet_index(segment.file)
    assert index.has_b_frames
    assert len(index) == COUNT
    pts = session.read("cam").column("pts").to_pylist()
    by_time = sorted(range(COUNT), key=lambda row: packets[row][0])
    assert [pts[row] for row in by_time] == [i * 90_000 * STEP_NS // 10**9 for i in range(COUNT)]


def test_order_places_what_does_not_decode():
    order = order_of(np.array([0, 2, 1, 4]), np.arange(5) * STEP_NS)
    ticks = np.arange(5) * 3600
    np.testing.assert_array_equal(order.pts, ticks[[0, 3, 1, 2, 4]])  # 3 goes right after 2
    assert (order.dts <= order.pts).all()
    assert (np.diff(order.dts) > 0).all()


def test_packets_before_the_first_keyframe_have_no_image(tmp_path):
    packets = encoded(*CODECS["h264"])[3:]
    session, notes = stored(tmp_path, PacketRecording(tmp_path, "h264", packets))
    table = session.read("cam")
    assert table.num_rows == len(packets)
    assert table.column("pts").null_count == 5
    assert "5 of the stream's images" in notes[0].message
    assert images_by_row(session) == {row: image for row, (image, _) in enumerate(packets) if row >= 5}


def test_new_parameter_sets_begin_a_new_file(tmp_path):
    first = encoded(*CODECS["h264"])
    second = encoded("libx264", {**CODECS["h264"][1], "profile": "baseline"})
    recording = PacketRecording(tmp_path, "h264", [*first, *((i + COUNT, p) for i, p in second)])
    session, _ = stored(tmp_path, recording)
    assert [segment.images for segment in session.streams["cam"].segments] == [COUNT, COUNT]
    a, b = session.segment_facts("cam")
    assert a.parameters_sha256 != b.parameters_sha256
    assert images_by_row(session) == dict(enumerate([*range(COUNT), *range(COUNT)]))


def test_length_prefixed_packets_become_the_same_video(tmp_path):
    packets = encoded(*CODECS["h264"])
    prefixed = [
        (image, b"".join(len(u).to_bytes(4, "big") + u for u in essence("h264", packet)))
        for image, packet in packets
    ]
    session, _ = stored(tmp_path, PacketRecording(tmp_path, "h264", prefixed))
    assert images_by_row(session) == {row: image for row, (image, _) in enumerate(packets)}


def test_keyframes_and_b_slices_are_seen_in_the_bytes():
    packets = encoded(*REORDERED["h264"])
    access = [read_access("h264", packet) for _, packet in packets]
    assert access[0].keyframe
    assert access[0].parameters
    assert any(a.b_slices for a in access)
    assert not any(read_access("h264", packet).b_slices for _, packet in encoded(*CODECS["h264"]))
