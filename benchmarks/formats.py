"""Reading learning datasets, beside the plainest reading of the same bytes.

- RLDS: a full scan, over reading the file record by record and comparing its checksums with google-crc32c.
- HDF5: a full scan, over reading the same datasets whole with h5py alone.
- Zarr: a full scan, over reading the same arrays whole with zarr alone.

CPU seconds of this process and of the children that it waits for. The recording is opened anew before each
scan; what a scan and its opening cost together stands beside as `..._with_open` (HDF5 files are opened in a
child, which costs some 20 ms and some 0.1 ms a dataset). The files are generated: episodes with cameras and
vectors.
"""

from __future__ import annotations

import contextlib
import json
import resource
import statistics
import struct
import tempfile
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import REPEATS, Target, arguments, finish

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinloop.core.recording import Recording

TARGETS = {
    "rlds_over_crc": Target(most=2),
    "hdf5_over_h5py": Target(most=1.3),
    "zarr_over_zarr": Target(most=1.3),
}
STEPS = 100
#: Bytes of a JPEG in the RLDS file, sides of the pictures in the Zarr store.
JPEG_BYTES, SIDE = 20_000, 96
#: Steps and sides of pictures of a demonstration in the HDF5 file, as LIBERO has them.
DEMO_STEPS, DEMO_SIDE = 150, 128


def cpu_s(run: Callable[[], object]) -> float:
    """CPU seconds of a call, of children that it waited for too."""
    before = _used_s()
    run()
    return _used_s() - before


def _used_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def ratios(path: Path, rows: int, theirs: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median CPU seconds of a scan, and of opening and a scan, over those of `theirs`; the runs take turns."""
    from twinloop.formats.reader import open_recording

    opened: list[Recording] = []
    seconds = []
    for _ in range(repeats + 1):  # the first warms up
        opening = cpu_s(lambda: opened.append(open_recording(path)))
        scanning = cpu_s(partial(scan, opened.pop(), rows))
        seconds.append((opening, scanning, max(cpu_s(theirs), 1e-3)))
    opening, scanning, peer = (statistics.median(column) for column in zip(*seconds[1:], strict=True))
    return scanning / peer, (opening + scanning) / peer


def scan(recording: Recording, rows: int) -> None:
    """All streams, pictures by reference."""
    with recording:
        found = sum(len(batch) for batch in recording.scan())
    assert found >= rows, (found, rows)


# RLDS


def write_rlds(folder: Path, episodes: int) -> int:
    """A dataset of one split; gives its steps."""
    from twinloop.formats.rlds.tfrecord import masked_crc

    tensor = {"pythonClassName": "Tensor", "tensor": {"shape": {"dimensions": ["7"]}, "dtype": "float32"}}
    shape = {"dimensions": ["256", "256", "3"]}
    image = {"image": {"shape": shape, "dtype": "uint8", "encodingFormat": "jpeg"}}
    text = {"text": {}}
    flag = {"tensor": {"shape": {}, "dtype": "bool"}}
    observation = {"featuresDict": {"features": {"image": image, "wrist": image, "state": tensor}}}
    step = {"observation": observation, "action": tensor, "language_instruction": text, "is_first": flag}
    steps = {"sequence": {"feature": {"featuresDict": {"features": step}}, "length": "-1"}}
    folder.mkdir()
    (folder / "features.json").write_text(json.dumps({"featuresDict": {"features": {"steps": steps}}}))
    (folder / "dataset_info.json").write_text(json.dumps({"name": "bench", "version": "1.0.0"}))
    rng = np.random.default_rng(0)
    with (folder / "bench-train.tfrecord-00000-of-00001").open("wb") as file:
        for _ in range(episodes):
            pictures = [b"\xff\xd8" + rng.bytes(JPEG_BYTES + int(rng.integers(0, 2000))) for _ in range(STEPS)]
            vectors = rng.normal(size=STEPS * 7).astype("<f4").tobytes()
            record = example(
                {
                    "steps/observation/image": (1, pictures),
                    "steps/observation/wrist": (1, pictures[::-1]),
                    "steps/observation/state": (2, [vectors]),
                    "steps/action": (2, [vectors]),
                    "steps/language_instruction": (1, [b"put the cup in the sink"] * STEPS),
                    "steps/is_first": (3, [b"\x01" + bytes(STEPS - 1)]),
                }
            )
            head = struct.pack("<Q", len(record))
            file.write(
                head + struct.pack("<I", masked_crc(head)) + record + struct.pack("<I", masked_crc(record))
            )
    return episodes * STEPS


def example(features: dict[str, tuple[int, list[bytes]]]) -> bytes:
    """A tf.train.Example: key -> (number of its kind of list, values or the packed ones)."""

    def field(number: int, data: bytes) -> bytes:
        size, length = b"", len(data)
        while length > 0x7F:
            size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
        return bytes([number << 3 | 2]) + size + bytes([length]) + data

    entries = [
        field(1, field(1, key.encode()) + field(2, field(form, b"".join(field(1, v) for v in values))))
        for key, (form, values) in features.items()
    ]
    return field(1, b"".join(entries))


def read_and_check(path: Path) -> None:
    """Each record read, and both of its checksums compared."""
    import google_crc32c

    def masked(data: bytes) -> int:
        crc = google_crc32c.value(data)
        return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF

    with path.open("rb") as file:
        while head := file.read(12):
            length, crc = struct.unpack("<QI", head)
            assert masked(head[:8]) == crc
            data = file.read(length)
            assert masked(data) == struct.unpack("<I", file.read(4))[0]


# HDF5


def write_hdf5(path: Path, episodes: int) -> int:
    """A file as robomimic writes it; gives its steps."""
    import h5py

    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        file.create_group("data").attrs["env_args"] = json.dumps({"env_kwargs": {"control_freq": 20}})
        for number in range(episodes):
            demo = file["data"].create_group(f"demo_{number}")
            demo.attrs["num_samples"] = DEMO_STEPS
            demo["actions"] = rng.normal(size=(DEMO_STEPS, 7))
            demo["states"] = rng.normal(size=(DEMO_STEPS, 45))
            demo["rewards"], demo["dones"] = np.zeros(DEMO_STEPS), np.zeros(DEMO_STEPS, np.int64)
            for key, width in (("eef_pos", 3), ("eef_quat", 4), ("joint_pos", 7), ("gripper_qpos", 2)):
                demo[f"obs/robot0_{key}"] = rng.normal(size=(DEMO_STEPS, width))
            for camera in ("agentview", "robot0_eye_in_hand"):
                demo[f"obs/{camera}_image"] = rng.integers(
                    0, 255, (DEMO_STEPS, DEMO_SIDE, DEMO_SIDE, 3), np.uint8
                )
    return episodes * DEMO_STEPS


def read_hdf5(path: Path) -> None:
    """Every dataset whole."""
    import h5py

    with h5py.File(path, "r") as file:
        for demo in file["data"].values():
            for found in (*demo.values(), *demo["obs"].values()):
                if isinstance(found, h5py.Dataset):
                    found[()]


# Zarr


def write_zarr(path: Path, episodes: int) -> int:
    """A store as diffusion policy writes it; gives its steps."""
    import zarr

    rng = np.random.default_rng(0)
    rows = episodes * STEPS
    group = zarr.open_group(path, mode="w", zarr_format=2)
    for name, width in (("action", 7), ("robot0_eef_pos", 3), ("robot0_eef_rot_axis_angle", 3)):
        group.create_array(
            f"data/{name}", data=rng.normal(size=(rows, width)).astype("f4"), chunks=(1000, width)
        )
    images = rng.integers(0, 255, (rows, SIDE, SIDE, 3), np.uint8)
    images[:, : SIDE // 2] = 40  # something to unpack
    group.create_array("data/camera0_rgb", data=images, chunks=(20, SIDE, SIDE, 3))
    group.create_array("meta/episode_ends", data=np.arange(STEPS, rows + 1, STEPS))
    return rows


def read_zarr(path: Path) -> None:
    """Every array whole."""
    import zarr

    group = zarr.open_group(path, mode="r")
    for name in ("data", "meta"):
        for _, array in group[name].arrays():
            array[:]


def main() -> None:
    """Write the three, run the pairs, print the figures."""
    quick = arguments(__doc__ or "").quick
    episodes, repeats = (20, 3) if quick else (60, REPEATS)
    figures = {}
    with tempfile.TemporaryDirectory(prefix="twinloop-bench-") as folder:
        root = Path(folder)
        rlds, hdf5, zarr = root / "1.0.0", root / "demo.hdf5", root / "replay.zarr"
        steps = write_rlds(rlds, episodes)
        records = next(rlds.glob("*.tfrecord*"))
        pairs = [("rlds_over_crc", rlds, steps, partial(read_and_check, records))]
        steps = write_hdf5(hdf5, episodes // 2)
        pairs.append(("hdf5_over_h5py", hdf5, steps, partial(read_hdf5, hdf5)))
        steps = write_zarr(zarr, episodes)
        pairs.append(("zarr_over_zarr", zarr, steps, partial(read_zarr, zarr)))
        figures |= {"rlds_mb": records.stat().st_size / 1e6, "hdf5_mb": hdf5.stat().st_size / 1e6}
        for key, path, steps, theirs in pairs:
            figures[key], figures[f"{key}_with_open"] = ratios(path, steps, theirs, repeats)
        with contextlib.suppress(ModuleNotFoundError):
            pcap = import_module("benchmarks.format_pcap")
            figures |= pcap.figures(quick=quick)
            TARGETS.update(pcap.TARGETS)
    finish("formats", figures, TARGETS)


if __name__ == "__main__":
    main()
