"""mmdetection3d's infos: what a key frame holds, gathered by sensor."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

#: A larger file is not decoded in one piece.
_MOST_BYTES = 1 << 30
_US_PER_S = 1_000_000


@dataclass
class Shots:
    """The files of one sensor: as they are named, with times (ns) and numbers where there are any."""

    named: list[str] = field(default_factory=list)
    stamps: list[int | None] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def add(self, named: str, stamp: int | None, sample: int, facts: dict[str, Any]) -> None:
        """Take in one file; the first one's facts (matrices, sizes) stand for all."""
        self.named.append(named)
        self.stamps.append(stamp)
        self.samples.append(sample)
        self.facts = self.facts or facts


@dataclass
class Infos:
    """A file of infos.

    Attributes:
        dataset: ``nuscenes``, ``kitti`` or whatever it says. categories: names by label.
        samples: the entries of its list. cameras, lidar: files by sensor.
    """

    dataset: str
    metainfo: dict[str, Any]
    categories: dict[int, str]
    samples: list[dict[str, Any]]
    cameras: dict[str, Shots] = field(default_factory=dict)
    lidar: Shots = field(default_factory=Shots)

    @property
    def is_kitti(self) -> bool:
        """Whether boxes are in the camera's frame and stand on their bottoms."""
        return self.dataset.lower().startswith("kitti")


def is_infos(head: bytes) -> bool:
    """Whether a JSON file that starts with `head` is a file of infos."""
    start = head.lstrip()[:512]
    return start.startswith(b"{") and b'"metainfo"' in start and b'"data_list"' in head


def read_infos(path: Path) -> Infos:
    """Decode a file of infos.

    Raises:
        UnreadableError: it is no JSON, or has no list of samples.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise UnreadableError("the file of infos is too large", where=str(path), expected="at most 1 GiB")
    try:
        content = json.loads(
            path.read_bytes()
        )  # velocities that nobody knows are NaN, which strict JSON has not
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"the JSON does not parse: {error}", where=str(path)) from None
    metainfo, samples = (
        content.get(key) if isinstance(content, dict) else None for key in ("metainfo", "data_list")
    )
    if not isinstance(metainfo, dict) or not isinstance(samples, list):
        raise UnreadableError("there is no list of samples", where=str(path), expected="metainfo and data_list")
    dataset = str(metainfo.get("dataset") or metainfo.get("DATASET") or "")
    infos = Infos(dataset, metainfo, _categories(metainfo), [one for one in samples if isinstance(one, dict)])
    for number, sample in enumerate(infos.samples):
        _gather(infos, number, sample)
    return infos


def sample_number(sample: dict[str, Any], number: int) -> int:
    """The number that a sample has in its data set, else its place in the list."""
    for key in ("sample_idx", "sample_id"):
        if isinstance(value := sample.get(key), int) and abs(value) < 1 << 62:
            return value
    return number


def stamp_of(entry: dict[str, Any]) -> int | None:
    """The time of an entry as ns: seconds, rounded to the microseconds that they were written with."""
    seconds = entry.get("timestamp")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not abs(seconds) < 1e10:
        return None
    return round(seconds * _US_PER_S) * 1000


def _gather(infos: Infos, number: int, sample: dict[str, Any]) -> None:
    index = sample_number(sample, number)
    images = sample.get("images")
    for camera, entry in images.items() if isinstance(images, dict) else ():
        if isinstance(entry, dict) and isinstance(named := entry.get("img_path"), str) and named:
            shots = infos.cameras.setdefault(camera, Shots())
            shots.add(named, stamp_of(entry), index, entry)
    cloud = sample.get("lidar_points")
    if isinstance(cloud, dict) and isinstance(named := cloud.get("lidar_path"), str) and named:
        stamp = stamp_of(cloud)
        infos.lidar.add(named, stamp_of(sample) if stamp is None else stamp, index, cloud)


def _categories(metainfo: dict[str, Any]) -> dict[int, str]:
    named = metainfo.get("categories")
    if isinstance(named, dict):
        return {value: name for name, value in named.items() if isinstance(value, int)}
    listed = metainfo.get("CLASSES") or metainfo.get("classes")
    return dict(enumerate(map(str, listed))) if isinstance(listed, list) else {}
