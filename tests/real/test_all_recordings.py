"""Every real recording there is: taken in by one command, its SOURCE.md met, through MCAP and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from twinloop.cli.main import app
from twinloop.core.kinds import Kind
from twinloop.core.recording import Recording
from twinloop.deliver.mcap.export import export_mcap
from twinloop.deliver.stored import stored_sources
from twinloop.formats.reader import open_recording
from twinloop.store.store import Store
from twinloop.store.stored import StoredSession

#: Columns that say where an image lies in the store, and what messages say themselves.
_PLACES = {"segment", "pts", "keyframe"}
_OF_PICTURES = {"encoding", "width", "height", "step", "is_bigendian"}
#: Folder -> how many recordings it holds.
FOLDERS = {
    "av2-lidar": 2,
    "caliscope-multicam": 6,
    "dex-hand-video": 1,
    "epic-kitchens-ann-NC": 1,
    "evo-trajectories": 12,
    "format-openarm-SYNTH": 2,
    "kitti-tracking-NC": 20,
    "lerobot-v21-unitree-g1": 1,
    "lerobot-v3-so101-SIM": 1,
    "mmdet3d-kitti-nuscenes": 4,
    "mot-tud": 5,
    "ouster-pcap": 22,
    "pose2sim-exo": 7,
    "project-aria": 4,
    "rgbd-tsdf": 1,
    "rlds-bridge-octo": 1,
    "robot-localization-bags": 1,
    "robot-urdf": 6,
    "stereo-calib-opencv": 1,
    "uci-robot-failures": 3,
    "xio-imu": 1,
}


@dataclass(frozen=True)
class Taken:
    """What the command said of each recording, and the store."""

    outcomes: tuple[dict[str, object], ...]
    store: Store
    code: int

    def of(self, folder: str) -> list[dict[str, object]]:
        return [outcome for outcome in self.outcomes if f"/{folder}" in f"{outcome['path']}/"]

    def session(self, name: str) -> StoredSession:
        """The session of the one recording whose path ends so."""
        (outcome,) = (o for o in self.outcomes if str(o["path"]).endswith(name))
        return self.store.session(str(outcome["session"]))

    def codes(self, name: str) -> set[str]:
        return {finding.code for finding in self.session(name).report.findings}


@pytest.fixture(scope="module")
def taken(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    store = Store.create(tmp_path_factory.mktemp("real") / "store")
    result = CliRunner().invoke(
        app, ["ingest", "--store", store.url, "--raw", "reference", "--json", str(test_data)]
    )
    text = result.stdout
    return Taken(tuple(json.loads(text[text.index("[") :])), Store.open(store.url), result.exit_code)


def test_one_command_takes_everything_in(taken: Taken, test_data: Path) -> None:
    assert {folder.name for folder in test_data.iterdir() if folder.is_dir()} == set(FOLDERS)
    assert {folder: len(taken.of(folder)) for folder in FOLDERS} == FOLDERS
    not_stored = {Path(str(o["path"])).name: o["status"] for o in taken.outcomes if o["status"] != "stored"}
    assert not_stored == {"VLI-16-one-packet.pcap": "quarantined"}
    assert taken.code == 3  # parts of some are not there, and say so


def test_robots(taken: Taken) -> None:
    g1 = taken.session("lerobot-v21-unitree-g1")
    assert len(g1.session.episodes) == 100
    assert g1.streams["observation.state"].count == 35_965
    leads = [f for f in g1.report.findings if f.code == "SYN004"]
    assert len({f.episode for f in leads}) == 100
    assert all(220 <= float(f.value or 0) <= 310 for f in leads)
    so101 = taken.session("lerobot_dataset_example")
    assert len(so101.session.episodes) == 6
    assert so101.streams["action"].count == 1782
    state = np.stack(so101.read("observation.state")["position"].to_numpy())
    assert np.ptp(state, axis=0).max() == 0
    jackal = taken.session("robot-localization-bags/test")
    assert jackal.streams["/imu/data"].measured_rate_hz == pytest.approx(50, rel=0.01)
    bridge = taken.session("bridge_dataset")
    assert len(bridge.session.episodes) == 25
    for window, count in (("lp1.data", 88), ("lp2.data", 47), ("lp3.data", 47)):
        assert len(taken.session(window).session.episodes) == count
    openarm = taken.session("dataset_0.3.0")
    rates = [1000 / float(np.median(_gaps_ms(openarm, name))) for name in openarm.streams]
    assert any(rate == pytest.approx(29.9, abs=0.5) for rate in rates)
    assert any(234 <= rate <= 241 for rate in rates)
    assert all(stream.rate_hz == 250 for name, stream in openarm.streams.items() if "arms" in name)


def test_cameras(taken: Taken) -> None:
    gaps = []
    for name in ("charuco_calibration/calibration/extrinsic", "post_optimization/calibration/extrinsic"):
        rig = taken.session(name)
        assert len(rig.streams) == 4
        assert len(rig.calibration) >= 4
        gaps += [_gaps_ms(rig, stream).max() for stream in rig.streams]
    assert max(gaps) == pytest.approx(208, abs=5)
    hand = taken.session("vector_retargeting/data")
    (stream,) = hand.streams.values()
    assert (stream.count, stream.segments[0].width) == (621, 1280)
    exo = taken.session("Demo_SinglePerson/videos")
    assert [exo.streams[f"cam0{n}"].segments[0].width for n in (1, 2, 3, 4)] == [1080, 1080, 1088, 1088]
    assert [exo.streams[f"cam0{n}"].segments[0].codec for n in (1, 2, 3, 4)] == ["h264", "vp9", "h264", "h264"]
    frames = taken.session("rgbd-frames")
    assert {stream.count for stream in frames.streams.values()} == {25}
    assert "VID003" in taken.codes("Demo_SinglePerson/videos")


def _gaps_ms(session: StoredSession, name: str) -> np.ndarray:
    return np.diff(np.asarray(session.read(name)[session.streams[name].timeline])) / 1e6


def test_scenes_and_labels(taken: Taken) -> None:
    boxes = [len(taken.session(log).read("annotations")) for log in ("c1bede", "13a6d76")]
    assert sorted(boxes) == [11_364, 12_078]
    epic = taken.session("epic-kitchens-ann-NC")
    assert len(epic.streams) == 138
    assert sum(stream.count or 0 for stream in epic.streams.values()) == 9668
    assert {"LAB001", "LAB002", "LAB003"} <= taken.codes("epic-kitchens-ann-NC")
    imu = taken.session("sensor_data.csv")
    gaps = np.diff(np.asarray(imu.read("sensor_data")[imu.streams["sensor_data"].timeline])) / 1e6
    assert len(gaps) + 1 == 13_514
    assert gaps.min() == pytest.approx(7.6, abs=0.1)
    assert gaps.max() == pytest.approx(30.2, abs=0.1)
    assert np.median(gaps) == pytest.approx(10.08, abs=0.02)


def test_every_recording_through_mcap_and_back(taken: Taken, tmp_path: Path) -> None:
    for source in stored_sources(taken.store):
        session = source.recording
        assert isinstance(session, StoredSession)
        name = session.manifest.recordings[0].name
        account = export_mcap(source, tmp_path / "out.mcap", force=True)
        assert not account.lost_images
        with open_recording(tmp_path / "out.mcap") as back:
            assert back.episodes == session.episodes, name
            assert back.calibration == session.calibration, name
            for stream in session.streams:
                differs = difference(session, back, stream, again=stream in account.encoded_again)
                assert not differs, f"{name}: {stream}: {differs}"


def difference(session: StoredSession, back: Recording, name: str, *, again: bool) -> str:
    """What is not the same of a stream; empty where all is."""
    before, after = session.streams[name], back.streams[name]
    said = ("kind", "role", "timeline", "stamp_source", "stamp_clock", "log_clock", "units", "rate_hz")
    for fact in said:
        if getattr(before, fact) != getattr(after, fact):
            return fact
    wanted, found = session.read(name), back.read(name)
    for column in wanted.schema.names:
        if column in _PLACES or (before.segments and column in _OF_PICTURES):
            continue
        if repr(wanted[column].to_pylist()) != repr(found[column].to_pylist()):
            return column
    if before.has_payload:
        payloads = [
            [bytes(each) for batch in recording.scan([name]) for each in batch.payload or ()]
            for recording in (session, back)
        ]
        return "" if payloads[0] == payloads[1] else "payload"
    if before.segments and not again and before.kind is Kind.IMAGE:
        images = sum(bool(len(each)) for batch in back.scan([name]) for each in batch.payload or ())
        return "" if images == len(wanted["pts"].drop_null()) else "images"
    return ""
