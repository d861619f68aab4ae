"""What a written dataset holds, read back: by our readers, or as its trainers read it where we have none."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np
import pyarrow.parquet as pq
from journey import NUMBERS, SCENE, Truth
from numpy.typing import NDArray

from twinloop.core.kinds import Kind, StampSource
from twinloop.deliver.align import latest_at
from twinloop.deliver.pictures import bytes_at
from twinloop.formats.mapping.feature import read_feature
from twinloop.formats.mapping.propose import propose
from twinloop.formats.reader import open_recording
from twinloop.formats.video.pixels import to_pixels
from twinloop.formats.video.probe import packet_index


@dataclass
class Held:
    """Rows of numbers, times (None: a grid, or none), images as files or pixels, and what is said."""

    numbers: dict[str, list[NDArray[np.float64]]] = field(default_factory=lambda: {n: [] for n in NUMBERS})
    times_ns: list[int] | None = field(default_factory=list)
    images: list[bytes | NDArray[np.uint8]] = field(default_factory=list)
    instructions: list[str | None] = field(default_factory=list)
    outcomes: list[str | None] = field(default_factory=list)
    units: set[str] = field(default_factory=set)
    calibrated: bool = False
    consent: bool = False

    def matrix(self, name: str) -> NDArray[np.float64]:
        """All rows of a feature."""
        parts = self.numbers[name]
        return np.concatenate(parts) if parts else np.zeros((0, 0))


def read_back(path: Path, out: str, truth: Truth) -> Held:
    """What lies at `path` in the format `out`."""
    held = Held()
    if out == "webdataset":
        _read_shards(path, held)
        return held
    for file in sorted(path.glob("*.mcap")) if out == "mcap" else [path]:
        _read_recording(file, held, truth)
        if out == "mcap":
            _read_record(file, held)
    return held


def _read_record(path: Path, held: Held) -> None:
    """What an MCAP file's metadata record `twinloop` says of the session."""
    from mcap.reader import make_reader

    with path.open("rb") as file:
        records = {record.name: record.metadata for record in make_reader(file).iter_metadata()}
    said = json.loads(records["twinloop"]["session"])
    held.consent |= said["facts"]["consent"] == "C-7"
    held.units = {feature["unit"] for feature in said["mapping"]["features"] if feature["name"] in NUMBERS}


def _read_recording(path: Path, held: Held, truth: Truth) -> None:
    with open_recording(path) as recording:
        features = {f.name: f for f in (recording.own_mapping or propose(recording)).features}
        scene = recording.streams[features[SCENE].stream]
        timed = scene.stamp_source not in (StampSource.GRID, StampSource.NONE)
        images, stamps = _images(recording, scene)
        rows = np.arange(len(images))
        if timed and len(images) > len(truth.times_ns):  # every sample is there: find those of the rows
            rows = np.searchsorted(stamps, truth.times_ns)
        for name in NUMBERS:
            if name not in features:
                continue
            samples = read_feature(recording, features[name])
            exact = len(samples) == len(rows)
            places = slice(None) if exact else latest_at(samples.times_ns, truth.times_ns)
            held.numbers[name].append(samples.values[places])
            stream = recording.streams[features[name].stream]
            held.units.add(stream.units.get(features[name].field or "", features[name].unit))
        held.images += [images[row] for row in rows]
        if not timed:
            held.times_ns = None
        elif held.times_ns is not None:
            held.times_ns += stamps[rows].tolist()
        held.instructions += [episode.instruction for episode in recording.episodes]
        held.outcomes += [episode.outcome for episode in recording.episodes]
        held.calibrated |= bool(recording.calibration) or any(
            stream.kind is Kind.CAMERA_INFO for stream in recording.streams.values()
        )
        held.consent |= recording.facts.consent == "C-7"


def _images(recording, stream):
    """All images of a stream, and their times (N,)."""
    images: list[bytes | NDArray[np.uint8]] = []
    stamps = []
    decoder = av.CodecContext.create("h264", "r")
    for batch in recording.scan([stream.name]):
        stamps.append(batch.columns.column(stream.timeline).to_numpy(zero_copy_only=False))
        if batch.payload is None:
            continue
        encodings = batch.columns.column("encoding").to_pylist()
        sizes = zip(
            batch.columns.column("height").to_pylist(), batch.columns.column("width").to_pylist(), strict=True
        )
        for encoding, size, data in zip(encodings, sizes, batch.payload, strict=True):
            if encoding == "h264":
                images += [to_pixels(picture) for picture in decoder.decode(av.Packet(bytes(data)))]
            elif encoding == "rgb8":
                images.append(np.frombuffer(data, np.uint8).reshape(*size, 3).copy())
            else:
                images.append(bytes(data))
    if not stream.segments and decoder.is_open:
        images += [to_pixels(picture) for picture in decoder.decode(None)]
    for segment in stream.segments:
        index = packet_index(Path(segment.file))
        if segment.codec == "mjpeg":
            images += [data for _, data in bytes_at(index, index.images)]
            continue
        with av.open(segment.file) as video:
            images += [to_pixels(picture) for picture in video.decode(video=0)]
    return images, np.concatenate(stamps)


def _read_shards(path: Path, held: Held) -> None:
    """As WebDataset reads them: tar files in order, samples by base name."""
    told: dict[str, dict] = {}
    episodes: Counter[int] = Counter()
    for shard in sorted(path.glob("*.tar")):
        with tarfile.open(shard) as tar:
            for member in tar:
                data = tar.extractfile(member).read()
                key, _, extension = member.name.partition(".")
                if extension == "json":
                    told[key] = json.loads(data)
                elif extension in ("state.npy", "action.npy"):
                    name = "action" if extension.startswith("action") else "observation.state"
                    held.numbers[name].append(np.load(io.BytesIO(data))[None])
                elif extension.startswith("scene."):
                    held.images.append(data)
    for said in told.values():
        held.times_ns.append(said["time_ns"])
        if not episodes[said["episode_index"]]:
            held.instructions.append(said["instruction"])
            held.outcomes.append(said["outcome"])
        episodes[said["episode_index"]] += 1


def folder_beside(path: Path) -> Path:
    """The folder inside a dataset, or beside a single file."""
    return path / "twinloop" if path.is_dir() else path.with_name(f"{path.name}.twinloop")


@contextmanager
def beside_hidden(path: Path) -> Iterator[None]:
    """The dataset alone, as it is without what was written beside it; Zarr's group `twinloop` is its own."""
    parts = [folder_beside(path) / name for name in ("rows.parquet", "episodes.parquet", "facts.json")]
    hidden = [(part, part.with_name(f".{part.name}")) for part in parts if part.exists()]
    for part, away in hidden:
        part.rename(away)
    try:
        yield
    finally:
        for part, away in hidden:
            away.rename(part)


@dataclass(frozen=True)
class Beside:
    """What the folder `twinloop` beside a dataset says."""

    times_ns: list[int]
    facts: dict
    episodes: list[dict]

    @classmethod
    def of(cls, path: Path) -> Beside | None:
        """What the folder says; None: there is none."""
        folder = folder_beside(path)
        if not (folder / "rows.parquet").exists():
            return None
        return cls(
            pq.read_table(folder / "rows.parquet")["row_ns"].to_pylist(),
            json.loads((folder / "facts.json").read_text()),
            pq.read_table(folder / "episodes.parquet").to_pylist(),
        )
