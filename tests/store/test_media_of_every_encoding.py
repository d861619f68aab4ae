"""Images of every encoding come back as they went in, each with its own times."""

from __future__ import annotations

import av
import numpy as np
import pyarrow as pa
import pytest

from twinloop.core.kinds import Kind
from twinloop.core.stream import Batch, Payload, Stream
from twinloop.formats.video.decode import decode_images
from twinloop.formats.video.still import decode_still, encode_still
from twinloop.store.local_objects import LocalObjects
from twinloop.store.manifest import Manifest, RecordingEntry
from twinloop.store.places import Places
from twinloop.store.stored import StoredSession
from twinloop.store.streams import Layout, RecordingWriter

WIDTH, HEIGHT = 64, 48
START = 1_767_607_200_000_000_000
RAW = {
    "rgb8": ("u1", 3),
    "bgr8": ("u1", 3),
    "8UC3": ("u1", 3),
    "rgba8": ("u1", 4),
    "bgra8": ("u1", 4),
    "mono8": ("u1", 1),
    "8UC1": ("u1", 1),
    "mono16": ("u2", 1),
    "16UC1": ("u2", 1),
    "rgb16": ("u2", 3),
    "yuv422": ("u1", 2),
    "yuv422_yuy2": ("u1", 2),
}


def raw_image(rng, encoding, big_endian=False):
    type, channels = RAW[encoding]
    image = rng.integers(0, np.iinfo(type).max, (HEIGHT, WIDTH, channels), endpoint=True).astype(type)
    return image.astype(image.dtype.newbyteorder(">" if big_endian else "<")).tobytes()


def batch_of(images, times, **columns):
    rows = len(images)
    table = {"stamp_ns": pa.array(times, pa.int64())}
    for name, value in columns.items():
        values = pa.array(value if isinstance(value, list) else [value] * rows)
        table[name] = values.dictionary_encode() if pa.types.is_string(values.type) else values
    lengths = np.array([len(image) for image in images], np.int64)
    buffer = np.frombuffer(b"".join(images), np.uint8)
    return Batch("cam", pa.record_batch(table), Payload(buffer, np.cumsum(lengths) - lengths, lengths))


def stored(tmp_path, batches, kind=Kind.IMAGE, **options):
    """The batches of one stream `cam`, taken in and read again; and the writer's notes."""
    layout = Layout(tmp_path, "S", "t")
    stream = Stream("cam", kind, timeline="stamp_ns")
    writer = RecordingWriter(layout, **options)
    for batch in batches:
        writer.append(stream, batch)
    entry = RecordingEntry("h", "n", "test", (), "copy", "", "", "", streams=writer.close([stream]))
    objects = LocalObjects(tmp_path)
    session = StoredSession(Manifest("S", recordings=(entry,)), (), objects, Places(objects))
    return session, writer.notes()


def times(count, step_ms=33):
    return [START + i * step_ms * 1_000_000 for i in range(count)]


def images_of(session):
    """Row -> image, by the table's segment and pts."""
    table = session.read("cam")
    found = {}
    for number, segment in enumerate(session.streams["cam"].segments):
        rows = [i for i, s in enumerate(table.column("segment").to_pylist()) if s == number]
        pts = np.array([table.column("pts")[row].as_py() for row in rows], np.int64)
        found.update({rows[place]: image for place, image in decode_images(segment, pts)})
    return found


@pytest.mark.parametrize("encoding", RAW)
def test_raw_images_come_back_as_they_decode_from_the_source(tmp_path, encoding):
    rng = np.random.default_rng(1)
    images = [raw_image(rng, encoding) for _ in range(5)]
    batch = batch_of(images, times(5), encoding=encoding, width=WIDTH, height=HEIGHT)
    session, notes = stored(tmp_path, [batch])
    assert not notes
    (segment,) = session.streams["cam"].segments
    assert (segment.codec, segment.images) == ("ffv1", 5)
    found = images_of(session)
    assert sorted(found) == [0, 1, 2, 3, 4]
    for row, image in found.items():
        expected = decode_still(images[row], encoding, WIDTH, HEIGHT)
        if "yuv" in encoding:  # lossless as YUV; two roads to RGB
            assert np.abs(image.astype(int) - expected).mean() < 40
        elif encoding == "rgb16":  # lossless with 16 bits; two roads to 8
            assert np.abs(image.astype(int) - expected).max() <= 1
        else:
            np.testing.assert_array_equal(image, expected)


def test_yuv_is_held_without_loss(tmp_path):
    image = raw_image(np.random.default_rng(2), "yuv422")
    session, _ = stored(tmp_path, [batch_of([image], times(1), encoding="yuv422", width=WIDTH, height=HEIGHT)])
    with av.open(session.streams["cam"].segments[0].file) as container:
        (frame,) = container.decode(video=0)
    packed = np.frombuffer(image, np.uint8).reshape(HEIGHT, WIDTH, 2)
    luma = np.frombuffer(frame.planes[0], np.uint8).reshape(HEIGHT, -1)[:, :WIDTH]
    np.testing.assert_array_equal(luma, packed[:, :, 1])
    blue = np.frombuffer(frame.planes[1], np.uint8).reshape(HEIGHT, -1)[:, : WIDTH // 2]
    np.testing.assert_array_equal(blue, packed[:, ::2, 0])


def test_big_endian_depth_with_padded_rows_is_exact(tmp_path):
    depth = np.random.default_rng(3).integers(0, 65535, (HEIGHT, WIDTH)).astype(np.uint16)
    padded = np.zeros((HEIGHT, WIDTH + 8), ">u2")
    padded[:, :WIDTH] = depth
    batch = batch_of(
        [padded.tobytes()],
        times(1),
        encoding="16UC1",
        width=WIDTH,
        height=HEIGHT,
        step=(WIDTH + 8) * 2,
        is_bigendian=True,
    )
    session, _ = stored(tmp_path, [batch], Kind.DEPTH)
    np.testing.assert_array_equal(images_of(session)[0], depth)


@pytest.mark.parametrize("encoding", ["jpeg", "png"])
def test_stills_are_remuxed_byte_for_byte(tmp_path, encoding):
    rng = np.random.default_rng(4)
    images = [
        encode_still(rng.integers(0, 255, (HEIGHT, WIDTH, 3)).astype(np.uint8), encoding) for _ in range(7)
    ]
    session, _ = stored(tmp_path, [batch_of(images, times(7), encoding=encoding)])
    (segment,) = session.streams["cam"].segments
    with av.open(segment.file) as container:
        packets = [bytes(p) for p in container.demux(video=0) if p.size]
    assert packets == images
    assert (segment.width, segment.height) == (WIDTH, HEIGHT)
    for row, image in images_of(session).items():
        np.testing.assert_array_equal(image, decode_still(images[row], encoding))


def test_sixteen_bit_png_is_exact(tmp_path):
    depth = np.random.default_rng(5).integers(0, 65535, (HEIGHT, WIDTH)).astype(np.uint16)
    session, _ = stored(
        tmp_path, [batch_of([encode_still(depth, "png")], times(1), encoding="png")], Kind.DEPTH
    )
    np.testing.assert_array_equal(images_of(session)[0], depth)


def test_floats_are_packed_and_come_back_as_bytes(tmp_path):
    rng = np.random.default_rng(6)
    images = [rng.normal(2, 1, (HEIGHT, WIDTH)).astype("<f4").tobytes() for _ in range(3)]
    batch = batch_of(images, times(3), encoding="32FC1", width=WIDTH, height=HEIGHT)
    session, _ = stored(tmp_path, [batch], Kind.DEPTH)
    assert not session.streams["cam"].segments
    assert [bytes(image) for batch in session.scan() for image in batch.payload] == images


def test_a_new_file_begins_where_size_or_encoding_changes(tmp_path):
    rng = np.random.default_rng(7)
    small = [encode_still(rng.integers(0, 255, (24, 32, 3)).astype(np.uint8)) for _ in range(2)]
    large = [encode_still(rng.integers(0, 255, (HEIGHT, WIDTH, 3)).astype(np.uint8)) for _ in range(2)]
    raw = [raw_image(rng, "rgb8") for _ in range(2)]
    session, _ = stored(
        tmp_path,
        [
            batch_of([*small, *large], times(4), encoding="jpeg"),
            batch_of(raw, [t + 10**9 for t in times(2)], encoding="rgb8", width=WIDTH, height=HEIGHT),
        ],
    )
    assert [(s.codec, s.width, s.images) for s in session.streams["cam"].segments] == [
        ("mjpeg", 32, 2),
        ("mjpeg", WIDTH, 2),
        ("ffv1", WIDTH, 2),
    ]
    assert session.read("cam").column("segment").to_pylist() == [0, 0, 1, 1, 2, 2]
    assert sorted(images_of(session)) == list(range(6))


def test_rows_without_a_usable_image_keep_their_times(tmp_path):
    rng = np.random.default_rng(8)
    good = raw_image(rng, "rgb8")
    session, notes = stored(
        tmp_path,
        [batch_of([good, b"", good[:100], good], times(4), encoding="rgb8", width=WIDTH, height=HEIGHT)],
    )
    table = session.read("cam")
    assert table.column("stamp_ns").to_pylist() == times(4)
    assert [pts is None for pts in table.column("pts").to_pylist()] == [False, True, True, False]
    assert {note.message for note in notes} == {
        "1 of the stream's images cannot be shown: no bytes",
        "1 of the stream's images cannot be shown: fewer bytes than its size asks for",
    }
    assert sorted(images_of(session)) == [0, 3]


def test_images_at_the_same_time_and_back_in_time_are_told_apart(tmp_path):
    rng = np.random.default_rng(9)
    images = [encode_still(rng.integers(0, 255, (HEIGHT, WIDTH, 3)).astype(np.uint8)) for _ in range(6)]
    odd = [START, START, START - 5 * 10**9, START + 3600 * 10**9, START + 1, START + 2]
    session, _ = stored(tmp_path, [batch_of(images, odd, encoding="jpeg")])
    table = session.read("cam")
    assert table.column("stamp_ns").to_pylist() == odd
    pts = table.column("pts").to_pylist()
    assert pts == sorted(set(pts))
    for row, image in images_of(session).items():
        np.testing.assert_array_equal(image, decode_still(images[row], "jpeg"))


def test_pictures_may_be_held_with_loss_but_depth_never(tmp_path):
    rng = np.random.default_rng(10)
    pictures = [raw_image(rng, "rgb8") for _ in range(3)]
    session, _ = stored(
        tmp_path / "a",
        [batch_of(pictures, times(3), encoding="rgb8", width=WIDTH, height=HEIGHT)],
        lossy=True,
    )
    assert session.streams["cam"].segments[0].codec == "h264"
    assert session.segment_facts("cam")[0].reencoded
    assert len(images_of(session)) == 3
    depth = [raw_image(rng, "16UC1")]
    session, _ = stored(
        tmp_path / "b",
        [batch_of(depth, times(1), encoding="16UC1", width=WIDTH, height=HEIGHT)],
        lossy=True,
    )
    assert session.streams["cam"].segments[0].codec == "ffv1"


def test_statistics_are_those_of_the_images(tmp_path):
    rng = np.random.default_rng(11)
    images = [rng.integers(0, 255, (HEIGHT, WIDTH, 3)).astype(np.uint8) for _ in range(4)]
    batch = batch_of(
        [image.tobytes() for image in images],
        times(4, step_ms=1500),
        encoding="rgb8",
        width=WIDTH,
        height=HEIGHT,
    )
    session, _ = stored(tmp_path, [batch])
    table = session.image_stats("cam")
    assert table.column("time_ns").to_pylist() == times(4, step_ms=1500)
    histograms = np.array(table.column("histogram").to_pylist()).reshape(4, 3, 256)
    for image, histogram in zip(images, histograms, strict=True):
        for channel in range(3):
            np.testing.assert_array_equal(
                histogram[channel], np.bincount(image[:, :, channel].ravel(), minlength=256)
            )
