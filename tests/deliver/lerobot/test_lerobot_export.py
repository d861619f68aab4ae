"""Sessions come out as a LeRobot v3.0 dataset whose rows, images and tasks are those that went in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from export_lab import START_NS, X264, DatasetView, at_rate, packets_of

from twinloop.core.clock import Clock, ClockModel, Epoch
from twinloop.core.errors import UnknownNameError, UsageError
from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Mapping
from twinloop.core.session import Outcome
from twinloop.deliver.align import Align
from twinloop.deliver.lerobot.dataset_v3 import Sizes
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rows import CameraClock, FixedClock
from twinloop.testing.memory import changed, memory_stream

TOP, WRIST = "observation.images.top", "observation.images.wrist"
SECOND = 1_000_000_000
BY_TOP = ExportOptions(CameraClock("top"))


def two_cameras(lab, count=60, *, top=None, wrist=None, spans=None, session="S1", **facts):
    """30 Hz cameras, 100 Hz joints from 50 ms earlier on."""
    top = at_rate(count, 30.0, jitter_ms=1.0) if top is None else top
    wrist = at_rate(count, 30.0, START_NS - 4_000_000) if wrist is None else wrist
    joints = at_rate(int(count / 30 * 100) + 20, 100.0, START_NS - 50_000_000)
    return lab.source(
        {
            "top": lab.camera([lab.video(f"{session}-top.mp4", len(top))], top),
            "wrist": lab.camera([lab.video(f"{session}-wrist.mkv", len(wrist), first=5)], wrist),
        },
        {"state": lab.joints(joints), "action": lab.joints(joints + 3_000_000)},
        spans=spans,
        session=session,
        **facts,
    )


def export(lab, source, options=BY_TOP, **arguments):
    sources = source if isinstance(source, list) else [source]
    export_lerobot(sources, lab.folder / "out", options, **arguments)
    return DatasetView(lab.folder / "out")


def test_a_cameras_images_are_the_rows_and_nothing_is_re_encoded(lab):
    source = two_cameras(lab)
    view = export(lab, source)
    assert view.info["fps"] == 30
    assert view.info["total_frames"] == 60
    assert view.numbers(TOP, 0) == [k % 26 for k in range(60)]
    assert view.numbers(WRIST, 0) == [(k + 5) % 26 for k in range(60)]
    for camera, original in ((TOP, "S1-top.mp4"), (WRIST, "S1-wrist.mkv")):
        assert packets_of(view.video(view.episodes[0], camera)) == packets_of(lab.folder / original)
        assert view.account["cameras"][camera]["remuxed_episodes"] == 1
    assert view.rows["row_ns"].to_pylist() == at_rate(60, 30.0, jitter_ms=1.0).tolist()


def test_no_value_of_a_row_comes_from_after_it(lab):
    view = export(lab, two_cameras(lab))
    rows = np.array(view.rows["row_ns"])
    for name in ("observation.state", "action"):
        taken = np.array(view.rows[f"{name}/source_ns"])
        assert (taken <= rows).all()
        assert (rows - taken < 10_000_000).all()
        # The joints say their own times.
        assert np.allclose(view.column(name)[:, 0], (taken - START_NS) / 1e9, atol=1e-6)
    assert (np.array(view.rows[f"{TOP}/source_ns"]) == rows).all()


def test_rows_read_in_blocks_are_the_rows_read_at_once(lab, monkeypatch):
    source = two_cameras(lab)
    for align in Align:
        options = replace(BY_TOP, align=align)
        whole = export(lab, source, options, force=True)
        monkeypatch.setattr("twinloop.deliver.features._BLOCK_ROWS", 7)
        blocks = export(lab, source, options, force=True)
        assert blocks.data.equals(whole.data)
        assert blocks.rows.equals(whole.rows)
        monkeypatch.undo()


def test_episodes_share_files_and_cuts_off_a_keyframe_keep_a_lead(lab):
    spans = [(START_NS, START_NS + SECOND), (START_NS + SECOND, START_NS + 2 * SECOND)]
    source = two_cameras(lab, top=at_rate(60, 30.0), spans=[(s - 1, e - 1) for s, e in spans])
    source = replace(
        source, episodes=(replace(source.episodes[0], start_ns=START_NS + SECOND // 10), source.episodes[1])
    )
    view = export(lab, source)
    assert [episode["length"] for episode in view.episodes] == [27, 30]
    assert view.numbers(TOP, 0) == [k % 26 for k in range(3, 30)]
    assert view.numbers(TOP, 1) == [k % 26 for k in range(30, 60)]
    first = view.episodes[0]
    assert first[f"videos/{TOP}/from_timestamp"] == 3 / 30
    assert view.account["cameras"][TOP]["unreferenced_lead_images"] == 3
    assert view.account["cameras"][TOP]["reencoded_episodes"] == 0
    assert "3 images before cuts" in (view.root / "twinloop/ACCOUNT.md").read_text()


def test_a_cut_without_a_lead_re_encodes_only_the_first_group(lab):
    times = at_rate(60, 30.0)
    middle = int(times[33]) - 1
    source = two_cameras(lab, top=times, spans=[(START_NS, middle), (middle, START_NS + 3 * SECOND)])
    view = export(lab, source, replace(BY_TOP, keep_lead=False))
    assert view.numbers(TOP, 1) == [k % 26 for k in range(33, 60)]
    camera = view.account["cameras"][TOP]
    assert (camera["remuxed_episodes"], camera["unreferenced_lead_images"]) == (2, 0)
    assert camera["remuxed_but_for_the_first_group"] == 1
    written = packets_of(view.video(view.episodes[1], TOP))
    assert len(written) == 27
    assert written[7:] == packets_of(lab.folder / "S1-top.mp4")[40:]
    assert "before the first keyframe are re-encoded" in (view.root / "twinloop/ACCOUNT.md").read_text()
    assert not list(view.root.glob("encoding-*"))


def test_a_gap_splits_the_episode(lab):
    top = np.delete(at_rate(60, 30.0), [25, 26, 27])
    view = export(lab, two_cameras(lab, top=top))
    assert [episode["length"] for episode in view.episodes] == [25, 32]
    episodes = view.account["episodes"]
    assert [(e["part"], e["parts"]) for e in episodes] == [(0, 2), (1, 2)]
    assert episodes[1]["after_gap_s"] == pytest.approx(4 / 30, abs=1e-6)
    assert view.account["cameras"][TOP]["remuxed_episodes"] == 2
    assert view.numbers(WRIST, 1) == [(k + 5) % 26 for k in range(28, 60)]


def test_kept_gaps_are_filled_and_re_encoded(lab):
    top = np.delete(at_rate(60, 30.0), [25, 26, 27])
    view = export(lab, two_cameras(lab, top=top), replace(BY_TOP, keep_gaps=True))
    assert [episode["length"] for episode in view.episodes] == [60]
    shown = [*range(25), 24, 24, 24, *range(25, 57)]
    assert view.numbers(TOP, 0) == [k % 26 for k in shown]
    camera = view.account["cameras"][TOP]
    assert (camera["reencoded_because"]["gaps kept"], camera["duplicated_images"]) == (1, 3)
    assert view.account["episodes"][0]["filled_rows"] == 3


def test_a_requested_rate_over_one_percent_off_resamples(lab):
    view = export(lab, two_cameras(lab), ExportOptions(CameraClock("top", fps=20)))
    assert view.info["fps"] == 20
    assert view.account["cameras"][TOP]["reencoded_because"] == {
        "rate": 1,
        "dropped images": 1,
    }
    rows = np.array(view.rows["row_ns"])
    assert (rows - rows[0] == np.arange(len(rows)) * 50_000_000).all()
    assert (np.array(view.rows[f"{TOP}/source_ns"]) <= rows).all()


def test_the_dataset_runs_at_the_cameras_rate(lab):
    view = export(lab, two_cameras(lab, top=at_rate(60, 29.97)))
    assert view.info["fps"] == 30
    assert view.account["cameras"][TOP]["remuxed_episodes"] == 1
    # 59 intervals of 33.367 instead of 33.333 ms
    assert view.account["largest_true_minus_grid_ms"] == pytest.approx(59 * (1e3 / 29.97 - 1e3 / 30), rel=1e-3)


def test_a_fixed_clock_shows_the_latest_image_of_each_camera(lab):
    view = export(lab, two_cameras(lab), ExportOptions(FixedClock(10)))
    rows = np.array(view.rows["row_ns"])
    assert (np.diff(rows) == 100_000_000).all()
    for camera, first in ((TOP, 0), (WRIST, 5)):
        taken = np.array(view.rows[f"{camera}/source_ns"])
        assert (taken <= rows).all()
        assert (rows - taken < 36_000_000)[:-2].all()
        assert len(rows) == 21  # and none after the last sample of any stream
        assert view.account["cameras"][camera]["remuxed_episodes"] == 0
        table = at_rate(60, 30.0, jitter_ms=1.0) if camera == TOP else at_rate(60, 30.0, START_NS - 4_000_000)
        expected = [(int(np.searchsorted(table, t)) + first) % 26 for t in taken]
        assert view.numbers(camera, 0) == expected


def test_samples_held_for_long_are_warned_of(lab):
    source = two_cameras(lab, 90, wrist=at_rate(20, 30.0, START_NS - 4_000_000))
    view = export(lab, source, ExportOptions(FixedClock(30)))
    assert any("observation.images.wrist: held for up to 2." in w for w in view.account["warnings"])


def test_a_fixed_clock_remuxes_a_camera_that_keeps_it(lab):
    times = at_rate(60, 30.0)
    source = two_cameras(lab, top=times, wrist=times - 2_000_000, spans=[(START_NS, int(times[-1]) + 1)])
    view = export(lab, source, ExportOptions(FixedClock(30)))
    assert [view.account["cameras"][c]["remuxed_episodes"] for c in (TOP, WRIST)] == [1, 1]
    assert view.account["cameras"][WRIST]["largest_true_minus_grid_ms"] == pytest.approx(2, abs=1e-3)


def test_rows_without_a_sample_yet_are_trimmed(lab):
    source = two_cameras(lab, wrist=at_rate(57, 30.0, START_NS + 95_000_000))
    view = export(lab, source)
    assert view.account["episodes"][0]["trimmed_rows"] == 3
    assert view.episodes[0]["length"] == 57
    assert view.numbers(TOP, 0) == [k % 26 for k in range(3, 60)]


def test_rows_with_samples_that_are_too_old_are_marked_and_listed(lab):
    source = two_cameras(lab)
    state = source.recording.held["/state"]
    keep = np.abs(state.times() - START_NS - SECOND) > SECOND // 4
    table = state.table.filter(pa.array(keep))
    source.recording.held["/state"] = replace(state, table=table)
    view = export(lab, source, replace(BY_TOP, max_age_ms=100))
    ((start, stop),) = view.account["episodes"][0]["invalid_rows"]
    assert 25 <= start < 30
    assert 36 <= stop <= 39
    valid = np.array(view.rows["valid"])
    assert np.flatnonzero(~valid).tolist() == list(range(start, stop))
    assert view.account["features"]["observation.state"]["rows_too_old"] == stop - start
    assert any("rows are invalid" in warning for warning in view.account["warnings"])
    assert np.isfinite(view.column("observation.state")).all()  # held, not lost


def test_values_that_are_not_finite_invalidate_their_rows_and_spare_the_statistics(lab):
    source = two_cameras(lab)
    state = source.recording.held["/state"]
    values = np.array(state.table["position"].to_pylist())
    values[100:110] = np.nan
    source.recording.held["/state"] = changed(state, {"position": values})
    view = export(lab, source)
    assert view.account["features"]["observation.state"]["rows_not_finite"] == 3
    assert np.isfinite(view.stats["observation.state"]["mean"]).all()
    assert view.account["invalid_rows_total"] == 3


def test_interpolation_and_holding_actions(lab):
    view = export(lab, two_cameras(lab), replace(BY_TOP, align=Align.INTERP))
    seconds = (np.array(view.rows["row_ns"]) - START_NS) / 1e9
    assert np.allclose(view.column("observation.state")[:, 0], seconds, atol=1e-6)
    assert (view.column("action")[:, 0] <= seconds + 1e-6).all()
    assert view.account["features"]["action"]["align"] == "latest"


def test_rotations_are_interpolated_on_the_sphere(lab):
    times = at_rate(200, 50.0, START_NS - 50_000_000)
    angle = (times - times[0]) / 1e9
    orientation = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=1)
    source = two_cameras(lab)
    pose = memory_stream(
        "/pose", Kind.POSE, {"position": np.zeros((200, 3)), "orientation": orientation}, stamp_ns=times
    )
    source.recording.held["/pose"] = pose
    source.recording.streams["/pose"] = pose.stream
    whole = Feature("observation.pose", "/pose", Role.OBSERVATION)
    turn = Feature("observation.turn", "/pose", Role.OBSERVATION, "orientation")
    source = replace(source, mapping=Mapping((*source.mapping.features, whole, turn)))
    view = export(lab, source, replace(BY_TOP, align=Align.INTERP))
    expected = (np.array(view.rows["row_ns"]) - times[0]) / 1e9
    for name, first in (("observation.pose", 3), ("observation.turn", 0)):
        values = view.column(name)
        assert np.allclose(2 * np.arctan2(values[:, first + 3], values[:, first]), expected, atol=1e-4)
    assert view.info["features"]["observation.pose"]["names"][3:] == [f"orientation.{axis}" for axis in "wxyz"]


def test_re_encoded_episodes_take_the_codec_of_the_remuxed_ones(lab):
    times = at_rate(90, 30.0)
    wrist = np.delete(times, [70])
    hevc = {"x265-params": "bframes=0:keyint=10:log-level=none", "preset": "ultrafast"}
    source = lab.source(
        {
            "top": lab.camera([lab.video("t.mp4", 90)], times),
            "wrist": lab.camera([lab.video("w.mp4", 89, "libx265", hevc)], wrist),
        },
        spans=[(START_NS - 1, START_NS + 2 * SECOND - 1), (START_NS + 2 * SECOND - 1, START_NS + 3 * SECOND)],
    )
    view = export(lab, source)
    camera = view.account["cameras"][WRIST]
    assert (camera["remuxed_episodes"], camera["reencoded_episodes"]) == (1, 1)
    assert camera["codecs"] == {"hevc": 2}
    assert view.numbers(WRIST, 1) == [k % 26 for k in [*range(60, 70), 69, *range(70, 89)]]
    assert "video.g" not in view.info["features"][WRIST]["info"]


def test_long_groups_of_pictures_are_warned_of(lab):
    times = at_rate(60, 30.0)
    slow = X264 | {"g": "30", "x264-params": "scenecut=0"}
    source = lab.source({"top": lab.camera([lab.video("t.mp4", 60, options=slow)], times)})
    view = export(lab, source)
    assert view.account["cameras"][TOP]["longest_gop"] == 30
    assert any("30 images from one keyframe to the next" in warning for warning in view.account["warnings"])
    again = export(lab, source, replace(BY_TOP, reencode=True), force=True)
    assert again.account["cameras"][TOP]["longest_gop"] == 2
    assert again.info["features"][TOP]["info"]["video.g"] == 2
    assert again.numbers(TOP, 0) == [k % 26 for k in range(60)]


def test_mjpeg_is_re_encoded_unless_kept(lab):
    times = at_rate(30, 30.0)
    video = lab.video("t.mkv", 30, "mjpeg", {"strict": "unofficial"}, "yuvj420p")
    source = lab.source({"top": lab.camera([video], times)})
    view = export(lab, source)
    assert view.account["cameras"][TOP]["reencoded_because"] == {"mjpeg": 1}
    assert view.info["features"][TOP]["info"]["video.codec"] == "h264"
    kept = export(lab, source, replace(BY_TOP, keep_mjpeg=True), force=True)
    assert kept.info["features"][TOP]["info"]["video.codec"] == "mjpeg"
    assert packets_of(kept.video(kept.episodes[0], TOP)) == packets_of(video)


def test_depth_becomes_a_depth_video(lab):
    times = at_rate(30, 30.0)
    depth = lab.camera([lab.video("d.mkv", 30, "ffv1", {}, "gray16le")], times - 1_000_000, Kind.DEPTH)
    source = lab.source({"top": lab.camera([lab.video("t.mp4", 30)], times), "depth": depth})
    view = export(lab, source)
    feature = view.info["features"]["observation.images.depth"]
    assert feature["shape"] == [48, 64, 1]
    assert feature["info"]["is_depth_map"] is True
    assert (feature["info"]["video.codec"], feature["info"]["video.pix_fmt"]) == ("hevc", "gray12le")
    from twinloop.deliver.lerobot.depth import to_millimetres

    shown = view.images("observation.images.depth", 0, "gray12le")
    back = [int(to_millimetres(codes)[20, 20]) for codes in shown]
    assert np.abs(np.array(back) - (500 + 7 * np.arange(30))).max() <= 1
    stats = view.stats["observation.images.depth"]
    assert stats["max"] == [[[500 + 7 * 29]]]
    assert any("depth is 12-bit" in item for item in view.account["lost"])


def test_the_metadata_is_lerobots(lab):
    view = export(lab, two_cameras(lab, robot="so101"))
    info = view.info
    assert info["codebase_version"] == "v3.0"
    assert (info["chunks_size"], info["data_files_size_in_mb"], info["video_files_size_in_mb"]) == (
        1000,
        100,
        200,
    )
    assert info["splits"] == {"train": "0:1"}
    assert info["robot_type"] == "so101"
    assert info["total_tasks"] == 1
    assert info["features"]["action"] == {"dtype": "float32", "shape": [2], "names": ["a", "b"]}
    assert info["features"]["timestamp"] == {"dtype": "float32", "shape": [1], "names": None}
    assert view.tasks == {0: "pick the cube"}
    tasks = pq.read_schema(view.root / "meta/tasks.parquet")
    assert b'"index_columns": ["task"]' in tasks.metadata[b"pandas"]
    (episode,) = view.episodes
    assert (episode["tasks"], episode["dataset_to_index"]) == (["pick the cube"], 60)
    keys = [key for key in episode if key.startswith("stats/")]
    assert len(keys) == 10 * len(info["features"])
    schema = pq.read_schema(view.root / "data/chunk-000/file-000.parquet")
    assert schema.field("action").type == pa.list_(pa.float32(), 2)
    assert schema.field("timestamp").type == pa.float32()
    assert b"huggingface" in schema.metadata
    assert view.column("index").tolist() == list(range(60))
    assert view.stats["index"]["max"] == [59]
    assert np.array(view.stats[TOP]["mean"]).shape == (3, 1, 1)
    assert 0 <= view.stats[TOP]["min"][0][0][0] < view.stats[TOP]["max"][0][0][0] <= 1


def test_success_is_told_only_where_all_outcomes_are_known(lab):
    source = two_cameras(lab, spans=[(START_NS, START_NS + SECOND), (START_NS + SECOND, START_NS + 2 * SECOND)])
    failed = replace(source.episodes[1], outcome=Outcome.FAILURE)
    view = export(lab, replace(source, episodes=(source.episodes[0], failed)))
    success = view.column("next.success")
    assert success.sum() == 1
    assert success[view.episodes[0]["length"] - 1]
    unknown = replace(source.episodes[1], outcome=Outcome.UNKNOWN)
    view = export(lab, replace(source, episodes=(source.episodes[0], unknown)), force=True)
    assert "next.success" not in view.info["features"]
    assert any(item.startswith("outcome") for item in view.account["lost"])
    outcomes = pq.read_table(view.root / "twinloop/episodes.parquet")["outcome"].to_pylist()
    assert outcomes == ["success", "unknown"]


def test_tasks_come_from_instructions_else_from_what_was_stated(lab):
    spans = [(START_NS, START_NS + SECOND), (START_NS + SECOND, START_NS + 2 * SECOND)]
    source = two_cameras(lab, spans=spans, task="sort cubes")
    silent = replace(source.episodes[0], instruction=None)
    view = export(lab, replace(source, episodes=(silent, source.episodes[1])))
    assert view.tasks == {0: "sort cubes", 1: "pick the cube"}
    assert (
        view.column("task_index").tolist()
        == [0] * view.episodes[0]["length"] + [1] * view.episodes[1]["length"]
    )
    view = export(lab, replace(source, episodes=(silent,)), replace(BY_TOP, task="said"), force=True)
    assert view.tasks == {0: "said"}


def test_excluded_episodes_are_left_out_and_listed(lab):
    spans = [(START_NS, START_NS + SECOND), (START_NS + SECOND, START_NS + 2 * SECOND)]
    source = two_cameras(lab, spans=spans)
    source = replace(source, episodes=(replace(source.episodes[0], excluded="arm slipped"), source.episodes[1]))
    view = export(lab, source)
    assert view.info["total_episodes"] == 1
    assert view.account["left_out"] == [{"session": "S1", "episode": "E0", "why": "excluded: arm slipped"}]
    assert export(lab, source, replace(BY_TOP, include_excluded=True), force=True).info["total_episodes"] == 2


def test_several_sessions_make_one_dataset(lab):
    view = export(lab, [two_cameras(lab, session="S1"), two_cameras(lab, 40, session="S2")])
    assert [episode["length"] for episode in view.episodes] == [60, 40]
    assert view.numbers(TOP, 1) == [k % 26 for k in range(40)]
    assert view.column("index").tolist() == list(range(100))
    assert set(view.account["sources"]) == {"S1", "S2"}
    assert (view.root / "twinloop/times/S2/%2Ftop.parquet").exists()


def other_joints(lab):
    source = two_cameras(lab, session="S2")
    state = lab.joints(at_rate(200, 100.0, START_NS - 50_000_000), ("a", "c"))
    source.recording.held["/state"] = changed(state, name="/state")
    return source


def other_size(lab):
    lab.width = 128
    return two_cameras(lab, session="S2")


def fewer_features(lab):
    source = two_cameras(lab, session="S2")
    return replace(source, mapping=Mapping(source.mapping.features[:-1]))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (other_joints, "observation.state is of a, c, not a, b"),
        (other_size, r"observation.images.top has shape \(48, 128, 3\), not \(48, 64, 3\)"),
        (fewer_features, "it lacks action"),
    ],
)
def test_sessions_that_do_not_fit_are_refused_with_the_difference(lab, other, said):
    first = two_cameras(lab)
    with pytest.raises(UsageError, match=said) as refused:
        export(lab, [first, other(lab)])
    assert "session S2 against session S1" in str(refused.value)
    assert not (lab.folder / "out").exists()


def test_true_times_and_facts_lie_beside_the_dataset(lab):
    source = two_cameras(lab)
    view = export(lab, source)
    times = pq.read_table(view.root / "twinloop/times/S1/%2Fstate.parquet")
    original = source.recording.held["/state"].table
    assert times["timeline_ns"].to_pylist() == original["stamp_ns"].to_pylist()
    assert times["log_ns"].to_pylist() == original["log_ns"].to_pylist()
    facts = (view.root / "twinloop/facts.json").read_text()
    assert '"fx": 500.0' in facts
    assert '"unit": "rad"' in facts


def test_clock_models_are_applied(lab):
    source = two_cameras(lab)
    late = Clock(Epoch.DEVICE, "wrist")
    stream = changed(source.recording.held["/wrist"], stamp_clock=late)
    source.recording.held["/wrist"] = stream
    source.recording.streams["/wrist"] = stream.stream
    model = ClockModel(late, Clock(Epoch.UNIX), (0,), (-6_000_000,))
    view = export(lab, replace(source, models=(model,)))
    assert view.rows[f"{WRIST}/source_ns"].to_pylist() == at_rate(60, 30.0, START_NS - 10_000_000).tolist()


def test_files_roll_over(lab):
    sources = [two_cameras(lab, 30, session=f"S{k}") for k in range(4)]
    view = export(lab, sources, sizes=Sizes(data_mb=0.004, video_mb=0.008))
    assert view.episodes[-1]["data/file_index"] > 0
    assert view.episodes[-1][f"videos/{TOP}/file_index"] > 0
    for episode in range(4):
        assert view.numbers(TOP, episode) == [k % 26 for k in range(30)]
    assert view.column("index").tolist() == list(range(120))


def test_a_dry_run_writes_nothing_and_tells_what_would_be(lab):
    source = two_cameras(lab)
    told = export_lerobot([source], None, BY_TOP).to_json()
    assert not (lab.folder / "out").exists()
    done = export(lab, source).account
    assert told["cameras"] == done["cameras"]
    assert told["episodes"] == [
        e | {"invalid_rows": [tuple(r) for r in e["invalid_rows"]]} for e in done["episodes"]
    ]


def test_a_camera_that_is_not_there_is_refused_with_those_that_are(lab):
    with pytest.raises(UnknownNameError, match=r"observation\.images\.top, observation\.images\.wrist"):
        export(lab, two_cameras(lab), ExportOptions(CameraClock("front")))


def test_nothing_to_export_says_why(lab):
    source = two_cameras(lab)
    source = replace(source, episodes=(replace(source.episodes[0], excluded="bad"),))
    with pytest.raises(UsageError, match=r"excluded: bad \(1\)"):
        export(lab, source)


def test_progress_ends_at_its_total(lab):
    seen = []
    export(lab, two_cameras(lab), replace(BY_TOP, reencode=True), progress=lambda *at: seen.append(at))
    assert seen[-1] == (120, 120)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
