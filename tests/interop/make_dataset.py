"""Exports a dataset with every trait that LeRobot could trip over, and what its rows must be.

Run by ``make interop`` with twinloop's own Python: ``make_dataset.py FOLDER`` writes ``FOLDER/dataset``, that
without leads and as v2.1 beside it, ``FOLDER/rlds``, and ``FOLDER/expected.npz`` (numbers, pixels and tasks of
the source, by row).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import av
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "deliver"))

from export_lab import START_NS, X264, Lab, at_rate

from twinloop.core.kinds import Kind
from twinloop.core.session import Outcome
from twinloop.deliver.lerobot.export import export_lerobot
from twinloop.deliver.lerobot.options import ExportOptions
from twinloop.deliver.rlds.export import export_rlds
from twinloop.deliver.rlds.options import RldsOptions
from twinloop.deliver.rows import CameraClock

ROWS = 90
CAMERAS = ("top", "wrist", "front", "depth")


def make_session(folder: Path, session: str):
    """One session: `top` is remuxed with a lead and a gap, `wrist` (AV1) is remuxed beside it, `front` is
    re-encoded, `depth` is quantised."""
    folder.mkdir(parents=True)
    lab = Lab(folder)
    times = at_rate(ROWS, 30.0, jitter_ms=1.0)
    gap = np.delete(np.arange(ROWS), [40, 41])
    joints = at_rate(400, 100.0, START_NS - 50_000_000)
    av1 = {"g": "6", "preset": "12", "crf": "20"}
    jpeg = {"strict": "unofficial", "q": "2"}
    cameras = {
        "top": lab.camera([lab.video("top.mp4", len(gap), options=X264)], times[gap]),
        "wrist": lab.camera([lab.video("wrist.mkv", ROWS, "libsvtav1", av1, first=5)], times - 3_000_000),
        "front": lab.camera(
            [lab.video("front.mkv", ROWS // 2, "mjpeg", jpeg, "yuvj420p", first=3)],
            at_rate(ROWS // 2, 15.0, START_NS - 20_000_000),
        ),
        "depth": lab.camera(
            [lab.video("depth.mkv", ROWS, "ffv1", {}, "gray16le")], times - 1_000_000, Kind.DEPTH
        ),
    }
    source = lab.source(
        cameras,
        {"state": lab.joints(joints), "action": lab.joints(joints + 2_000_000)},
        spans=[(START_NS + 100_000_000, START_NS + 2 * 10**9), (START_NS + 2 * 10**9, START_NS + 10**10)],
        session=session,
        robot="so101",
    )
    first, second = source.episodes
    second = replace(second, outcome=Outcome.FAILURE, instruction="put it back, ganz sacht")
    return replace(source, episodes=(first, second))


def pixels_of(source, camera: str, times_ns) -> np.ndarray:
    """The source's images at given times: (R, H, W, 3) uint8, or depth (R, H, W) uint16 in mm."""
    held = source.recording.held[f"/{camera}"]
    with av.open(held.stream.segments[0].file) as container:
        form = "gray16le" if camera == "depth" else "rgb24"
        images = [picture.to_ndarray(format=form) for picture in container.decode(video=0)]
    return np.stack([images[place] for place in np.searchsorted(held.times(), times_ns)])


def main(folder: Path) -> None:
    import pyarrow.parquet as pq

    sources = [make_session(folder / f"session-{n}", f"S{n}") for n in range(2)]
    options = ExportOptions(CameraClock("top"))
    account = export_lerobot(sources, folder / "dataset", options)
    export_lerobot(sources, folder / "dataset-without-leads", replace(options, keep_lead=False))
    export_lerobot(sources, folder / "dataset-v2.1", replace(options, version="v2.1"))
    export_rlds(sources, folder / "rlds", RldsOptions(CameraClock("top"), float64=True))
    rows = pq.read_table(folder / "dataset/twinloop/rows.parquet")
    episodes = pq.read_table(folder / "dataset/twinloop/episodes.parquet")
    session_of = dict(zip(episodes["episode_index"].to_pylist(), episodes["session"].to_pylist(), strict=True))
    at = np.array([session_of[index] for index in rows["episode_index"].to_pylist()])
    expected: dict[str, np.ndarray] = {}
    for name in ("observation.state", "action"):
        seconds = (np.asarray(rows[f"{name}/source_ns"]) - START_NS) / 1e9
        expected[name] = np.stack([seconds, seconds + 1], axis=1).astype(np.float32)
    for camera in CAMERAS:
        times = np.asarray(rows[f"observation.images.{camera}/source_ns"])
        parts = [pixels_of(s, camera, times[at == s.session]) for s in sources]
        expected[f"observation.images.{camera}"] = np.concatenate(parts)
    expected["task"] = np.array(
        [episodes["instruction"][index].as_py() for index in rows["episode_index"].to_pylist()]
    )
    remuxed = [name for name, camera in account.cameras.items() if not camera.reencoded]
    np.savez_compressed(folder / "expected.npz", remuxed=np.array(remuxed), **expected)
    print(f"{len(account.episodes)} episodes, {account.rows} rows; remuxed: {', '.join(remuxed)}")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
