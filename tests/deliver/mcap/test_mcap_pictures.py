"""Images from a store into messages: packets as they are, raw pixels to the byte, B-frames encoded again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest
from export_lab import Lab

from twinloop.core.mapping import Mapping
from twinloop.core.session import Outcome, SessionFacts
from twinloop.deliver.mcap.export import export_mcap
from twinloop.deliver.source import ExportSource
from twinloop.deliver.stored import stored_sources
from twinloop.formats.reader import open_recording
from twinloop.store.ingest import Status, ingest
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.deliver.mcap.own import Encoding

JPEG = CameraSpec("scene", 10.0, 64, 48)
RAW = CameraSpec("wrist", 10.0, 64, 48, encoding="raw")
VIDEO = CameraSpec("wrist", 10.0, 64, 48, encoding="h264")


def images(recording: Recording, stream: str) -> list[bytes]:
    return [bytes(each) for batch in recording.scan([stream]) for each in batch.payload or ()]


@pytest.mark.parametrize("encoding", ["ros2", "foxglove"])
@pytest.mark.parametrize("wrist", [RAW, VIDEO])
def test_images_of_a_session_come_back(tmp_path: Path, encoding: Encoding, wrist: CameraSpec) -> None:
    spec = SessionSpec(duration_s=2.0, cameras=(JPEG, wrist), depth_hz=5.0, imu_hz=50.0, tf_hz=20.0)
    record_session(tmp_path / "take.mcap", spec)
    store = Store.create(tmp_path / "store")
    assert ingest(store, tmp_path / "take.mcap").status is Status.STORED
    (source,) = stored_sources(store)
    account = export_mcap(source, tmp_path / "out.mcap", encoding=encoding)
    assert not account.encoded_again
    assert not account.lost_images
    with open_recording(tmp_path / "take.mcap") as before, open_recording(tmp_path / "out.mcap") as after:
        assert list(before.streams) == list(after.streams)
        for name in before.streams:
            now, then = after.read(name), before.read(name)
            for column in set(now.schema.names) & set(then.schema.names):
                assert now[column].to_pylist() == then[column].to_pylist(), (name, column)
        for name, stream in before.streams.items():
            if stream.has_payload:
                ours, theirs = images(after, name), images(before, name)
                assert ours == theirs or pictures(ours) == pictures(theirs), name
    again = Store.create(tmp_path / "again")
    assert ingest(again, tmp_path / "out.mcap").status is Status.STORED
    (back,) = stored_sources(again)
    assert {n: s.count for n, s in back.recording.streams.items()} == {
        n: s.count for n, s in source.recording.streams.items()
    }


def pictures(packets: list[bytes]) -> list[bytes]:
    context = av.CodecContext.create("h264", "r")
    frames = [frame for packet in packets for frame in context.decode(av.Packet(packet))]
    return [frame.to_ndarray().tobytes() for frame in (*frames, *context.decode(None))]


def test_b_frames_are_encoded_again_or_left_raw(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    video = lab.video("cam.mp4", 40, options={"g": "20", "bf": "3", "crf": "12"})
    store = Store.create(tmp_path / "store")
    assert ingest(store, video).status is Status.STORED
    (source,) = stored_sources(store)
    account = export_mcap(source, tmp_path / "again.mcap")
    (name,) = source.recording.streams
    assert account.encoded_again == [name]
    assert account.types[name] == "foxglove_msgs/msg/CompressedVideo"
    exact = export_mcap(source, tmp_path / "exact.mcap", exact=True)
    assert not exact.encoded_again
    assert exact.types[name] == "sensor_msgs/msg/Image"
    with av.open(str(video)) as container:
        true = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    with open_recording(tmp_path / "exact.mcap") as raw:
        assert images(raw, name) == [picture.tobytes() for picture in true]
    with open_recording(tmp_path / "again.mcap") as encoded:
        packets = images(encoded, name)
    context = av.CodecContext.create("h264", "r")
    shown = [f.to_ndarray(format="rgb24") for p in packets for f in context.decode(av.Packet(p))]
    shown += [f.to_ndarray(format="rgb24") for f in context.decode(None)]
    assert len(shown) == len(true) == 40
    assert max(float(np.abs(a.astype(int) - b).mean()) for a, b in zip(shown, true, strict=True)) < 6


def test_what_lies_in_no_store_is_exported_all_the_same(tmp_path: Path) -> None:
    record_session(tmp_path / "take.mcap", SessionSpec(duration_s=2.0, cameras=(JPEG,)))
    with open_recording(tmp_path / "take.mcap") as recording:
        export_mcap(ExportSource("S", recording, Mapping(), ()), tmp_path / "out.mcap")
        with open_recording(tmp_path / "out.mcap") as back:
            assert images(back, "/scene/image/compressed") == images(recording, "/scene/image/compressed")


def test_what_people_stated_comes_along(tmp_path: Path) -> None:
    record_session(tmp_path / "take.mcap", SessionSpec(duration_s=2.0, cameras=()))
    store = Store.create(tmp_path / "store")
    facts = SessionFacts(task="pick", operator="kim", consent="c1", meta={"shift": "late"})
    ingest(store, tmp_path / "take.mcap", IngestOptions(facts=facts, outcome=Outcome.SUCCESS))
    (source,) = stored_sources(store)
    export_mcap(source, tmp_path / "out.mcap")
    again = Store.create(tmp_path / "again")
    ingest(again, tmp_path / "out.mcap", IngestOptions(facts=SessionFacts(operator="sam")))
    (back,) = stored_sources(again)
    assert back.facts == SessionFacts(task="pick", operator="sam", consent="c1", meta={"shift": "late"})
    assert [e.outcome for e in back.episodes] == [Outcome.SUCCESS]
    assert back.mapping.features == source.mapping.features
