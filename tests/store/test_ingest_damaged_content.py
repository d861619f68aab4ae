"""Damage of any kind in files of any format: told and kept apart, never a crash, never harm to the store."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from twinloop.core.kinds import Kind
from twinloop.core.recording import Problem
from twinloop.store.blobs import blob_key
from twinloop.store.fsck import check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.sources import IngestOptions
from twinloop.testing.bag_writer import write_rosbag1, write_rosbag2
from twinloop.testing.damaged import flip_bits, truncate
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session, simulate

pytestmark = pytest.mark.every_store(heavy=True)

SPEC = SessionSpec(
    duration_s=2.0,
    follower_hz=50,
    leader_hz=25,
    cameras=(CameraSpec("scene", 8, 64, 48), CameraSpec("wrist", 4, 64, 48, "raw")),
    imu_hz=20,
    tf_hz=10,
    chunk_bytes=20_000,
)


def write_mcap(folder: Path) -> Path:
    return record_session(folder / "session.mcap", SPEC).path


def write_bag(folder: Path) -> Path:
    write_rosbag1(folder / "session.bag", simulate(SPEC)[0].values(), chunk_bytes=20_000)
    return folder / "session.bag"


def write_bag2(folder: Path) -> Path:
    write_rosbag2(folder / "session", simulate(SPEC)[0].values())
    return folder / "session"


def write_csv(folder: Path) -> Path:
    lines = "".join(f"{k / 100:.2f},{k % 7},label {k % 3}\n" for k in range(3000))
    (folder / "log.csv").write_text("time_s,x,what\n" + lines)
    return folder / "log.csv"


def write_clip(path: Path) -> None:
    import av

    with av.open(str(path), "w") as container:
        track = container.add_stream("libx264", rate=10, options={"preset": "ultrafast"})
        track.width, track.height, track.pix_fmt = 64, 48, "yuv420p"
        for number in range(12):
            picture = np.full((48, 64, 3), 20 * number, np.uint8)
            container.mux(track.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(track.encode(None))


def write_videos(folder: Path) -> Path:
    (folder / "cameras").mkdir()
    for name in ("left", "right"):
        write_clip(folder / "cameras" / f"{name}.mp4")
    rows = "".join(f"{1.7e9 + k / 10:.3f}\n" for k in range(12))
    (folder / "cameras" / "timestamps.csv").write_text("timestamp\n" + rows)
    return folder / "cameras"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("write", [write_mcap, write_bag, write_bag2, write_csv, write_videos])
def test_random_damage(store, tmp_path, write):
    whole = tmp_path / "whole"
    whole.mkdir()
    source = write(whole)
    assert ingest(store, source).exit_code == 0
    for seed in range(8):
        shutil.copytree(whole, tmp_path / f"{seed}")
        path = tmp_path / f"{seed}" / source.name
        files = sorted(file for file in path.rglob("*") if file.is_file()) or [path]
        victim = files[seed % len(files)]
        if seed % 4 == 0:
            truncate(victim, seed / 8 + 0.1)
        else:
            for number in range(seed):
                flip_bits(victim, 100 * seed + number)
        outcome = ingest(store, path)
        assert outcome.exit_code in (0, 3), (seed, outcome.message)
        assert outcome.status is not Status.FAILED, (seed, outcome.message)
        if outcome.session:
            with store.session(outcome.session) as session:
                assert session.report.failed == (), seed
                assert sum(len(batch) for batch in session.scan()) > 0
    assert list(check_store(store)) == []


def test_a_video_of_nothing_beside_whole_ones(store, tmp_path):
    folder = write_videos(tmp_path)
    (folder / "top.mp4").write_bytes(b"")
    whole = (folder / "left.mp4").read_bytes()
    (folder / "cut.mp4").write_bytes(whole[: len(whole) // 3])
    outcome = ingest(store, folder)
    assert (outcome.status, outcome.exit_code) == (Status.STORED, 3)
    assert {Path(note.where.file).name for note in outcome.lost} == {"top.mp4", "cut.mp4"}
    with store.session(outcome.session) as session:
        assert set(session.streams) == {"left", "right"}
    # What could not be read waits in the store for a better reader.
    (reason,) = store.quarantine.all()
    kept = {file.name: file.sha256 for file in reason.files}
    assert {"top.mp4", "cut.mp4"} <= kept.keys()
    assert store.objects.get(blob_key(kept["cut.mp4"])) == whole[: len(whole) // 3]
    assert list(check_store(store)) == []


def test_schemas_that_do_not_parse_cost_only_their_own_messages(store, tmp_path):
    from mcap.writer import Writer

    path = tmp_path / "odd.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        for name, encoding, schema in (
            ("/broken", "ros2msg", b"float64 = ["),
            (
                "/fine",
                "jsonschema",
                json.dumps({"type": "object", "properties": {"x": {"type": "number"}}}).encode(),
            ),
        ):
            schema_id = writer.register_schema("some_msgs/msg/Type", encoding, schema)
            channel = writer.register_channel(name, "cdr" if name == "/broken" else "json", schema_id)
            for k in range(20):
                writer.add_message(channel, 10**18 + k * 10**7, b'{"x": %d}' % k, 10**18 + k * 10**7)
        writer.finish()
    outcome = ingest(store, path)
    assert outcome.status is Status.STORED
    with store.session(outcome.session) as session:
        assert session.streams["/broken"].kind is Kind.RAW
        assert [bytes(p) for b in session.scan(["/broken"]) for p in b.payload] == [
            b'{"x": %d}' % k for k in range(20)
        ]
        assert session.read("/fine").column("x").to_pylist() == list(range(20))
        (note,) = (note for note in session.notes if note.problem is Problem.SCHEMA)
        assert note.where.stream == "/broken"
    assert outcome.findings


def test_joints_that_are_there_in_one_sample_alone_keep_nothing_out(store, tmp_path):
    """A bit flipped in a joint's name, in the first sample: what is proposed from it fits nothing else."""
    path = tmp_path / "a.mcap"
    spec = SessionSpec(seed=1, duration_s=2.0, chunk_bytes=0, cameras=())
    record_session(path, spec)
    data = path.read_bytes()
    at = data.index(b"wrist_pitch")
    path.write_bytes(data[:at] + b"wrist_pktch" + data[at + 11 :])
    outcome = ingest(store, path)
    assert outcome.status is Status.STORED, outcome.message
    with store.session(outcome.session) as session:
        assert session.streams["/follower/joint_states"].count == 400


def test_a_given_mapping_that_does_not_fit_is_told(store, tmp_path):
    path = write_csv(tmp_path)
    (tmp_path / "features.toml").write_text(
        'schema = 1\n[[features]]\nname = "observation.state"\nstream = "lug"\nrole = "observation"\n'
    )
    outcome = ingest(store, path, IngestOptions(mapping=tmp_path / "features.toml"))
    assert (outcome.status, outcome.exit_code) == (Status.FAILED, 2)
    assert "did you mean log" in outcome.message
    assert not list(store.objects.walk("sessions"))
