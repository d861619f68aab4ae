"""What the store gives back is what the recording held: values, times, bytes, pixels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from twinloop.core.kinds import Kind
from twinloop.formats.reader import open_recording
from twinloop.formats.video.decode import decode_images
from twinloop.store.ingest import Status, ingest
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

MEDIA = {"width", "height", "encoding", "step", "is_bigendian", "segment", "pts"}


def plain(column: pa.ChunkedArray) -> list[object]:
    return column.to_pylist()


@pytest.mark.parametrize("encoding", ["jpeg", "h264", "raw"])
def test_every_column_and_image_comes_back(store, tmp_path, encoding):
    path = tmp_path / f"{encoding}.mcap"
    camera = CameraSpec("scene", 10.0, width=64, height=48, encoding=encoding)
    record_session(
        path,
        SessionSpec(
            seed=2, duration_s=3.0, cameras=(camera,), depth_hz=5.0, imu_hz=50.0, wrench_hz=50.0, tf_hz=10.0
        ),
    )
    assert ingest(store, path).status is Status.STORED
    with open_recording(path) as source, store.session("last") as stored:
        assert list(stored.streams) == list(source.streams)
        for name, stream in source.streams.items():
            before, after = source.read(name), stored.read(name)
            for column in before.column_names:
                if column not in MEDIA:
                    assert plain(after.column(column)) == plain(before.column(column)), (name, column)
            if stream.kind in (Kind.IMAGE, Kind.DEPTH):
                same_images(source, stored, name, encoding if stream.kind is Kind.IMAGE else "raw")


def same_images(source, stored, name: str, encoding: str) -> None:
    payloads = [bytes(p) for batch in source.scan([name]) for p in batch.payload]
    segments = stored.streams[name].segments
    table = stored.read(name)
    assert table.column("pts").null_count == 0
    assert len(segments) == 1
    if encoding == "raw":
        pts = table.column("pts").to_numpy()
        images = [image for _, image in decode_images(segments[0], pts)]
        assert [image.tobytes() for image in images] == payloads
    elif encoding == "jpeg":
        assert packets(segments[0].file) == payloads
    else:
        assert len(packets(segments[0].file)) == len(payloads)


def packets(file: str) -> list[bytes]:
    import av

    with av.open(file) as container:
        return [bytes(p) for p in container.demux(container.streams.video[0]) if p.pts is not None]


def test_times_are_read_from_the_table_not_from_the_video(store, recording):
    ingest(store, recording)
    with open_recording(recording) as source, store.session("last") as stored:
        name = "/scene/image/compressed"
        stamp = stored.read(name).column("stamp_ns").to_numpy()
        assert np.array_equal(stamp, source.read(name).column("stamp_ns").to_numpy())
        assert (np.diff(stamp) % 1_000_000 != 0).any()


def test_metadata_and_attachments_are_kept(store, recording):
    ingest(store, recording)
    with open_recording(recording) as source, store.session("last") as stored:
        assert stored.metadata == source.metadata
        (mine,), (theirs,) = stored.attachments, source.attachments
        assert stored.read_attachment(mine) == source.read_attachment(theirs)
