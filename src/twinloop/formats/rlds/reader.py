"""The reader `rlds`: opens a dataset by its descriptions and by hopping through its files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions

_VERSION = re.compile(r"^\d+\.\d+\.\d+$")
_DESCRIBED = 1 << 20


class RldsReader:
    """RLDS in TFRecord: a version's folder, a dataset's folder of one version, or a single file of it."""

    name = "rlds"
    title = "RLDS / TFRecord (tensorflow_datasets)"
    keeps = "every step, picture and text as stored, timestamp_ns, instructions; checksums are compared"
    loses = "capture times without timestamp_ns (stamps are a grid); features nested deeper than a step's lists"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A folder with features.json of steps; a file that begins with a length and its checksum."""
        if head:
            return _is_record_file(head)
        return _version_folder(path) is not None

    def open(self, path: Path, options: ReadOptions) -> Recording:
        """Read features.json, dataset_info.json and, of each record, its length, steps and metadata.

        Raises:
            UnreadableError: features.json is missing or describes no steps, or no record is there.
        """
        from twinloop.formats.beside.folder import read_beside
        from twinloop.formats.beside.tell import tell
        from twinloop.formats.notes import Notes
        from twinloop.formats.rlds.episodes import find_episodes
        from twinloop.formats.rlds.features import read_features
        from twinloop.formats.rlds.recording import RldsRecording
        from twinloop.formats.rlds.shards import find_shards, read_dataset_info
        from twinloop.formats.rlds.streams import steps_of, streams_of

        only = path if path.is_file() else None
        folder = path.parent if only else _version_folder(path) or path
        described, about = folder / "features.json", folder / "dataset_info.json"
        if not described.is_file():
            raise UnreadableError(
                "features.json is missing, without which nobody can tell what the records hold",
                where=str(folder),
                expected="features.json beside the TFRecord files",
                fix="copy the whole folder of the dataset's version",
            )
        notes = Notes()
        leaves = read_features(described, notes)
        info = read_dataset_info(about, notes)
        shards = find_shards(folder, info, notes, only)
        episodes = find_episodes(shards, leaves, notes)
        if not episodes:
            said = "; ".join(note.message for note in notes.all[:3])
            raise UnreadableError(
                f"not one record of {len(shards)} files can be read{': ' if said else ''}{said}",
                where=str(path),
                expected="TFRecord files of tf.train.Example",
            )
        grid = steps_of(leaves, episodes, described, notes)
        streams, made_of = streams_of(leaves, episodes, grid, described, notes)
        own = (described, *((about,) if about.is_file() else ()))
        recording = RldsRecording(
            path,
            episodes=episodes,
            grid=grid,
            leaves=made_of,
            streams=streams,
            files=(*(shard.path for shard in shards), *own),
            metadata=dict(_flat(info)),
            verify=options.verify,
            notes=notes,
        )
        if only is None:
            tell(recording, read_beside(folder / "twinloop", grid.lengths, notes))
        return recording


def _is_record_file(head: bytes) -> bool:
    if len(head) < 12 or head[5:8] != b"\0\0\0" or not any(head[:5]):
        return False
    from twinloop.formats.rlds.tfrecord import is_header

    return is_header(head)


def _version_folder(path: Path) -> Path | None:
    """The folder itself, or its one version, if features.json there describes steps."""
    try:
        if _describes_steps(path):
            return path
        inside = [child for child in path.iterdir() if _VERSION.match(child.name)]
        return inside[0] if len(inside) == 1 and _describes_steps(inside[0]) else None
    except OSError:
        return None


def _describes_steps(folder: Path) -> bool:
    try:
        with (folder / "features.json").open("rb") as file:
            return b'"steps"' in file.read(_DESCRIBED)
    except OSError:
        return False


def _flat(info: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Keys joined by ``/``, values as text; of a split, the episodes of its files."""
    flat: list[tuple[str, str]] = []
    for key, value in info.items():
        if isinstance(value, dict):
            flat += _flat(value, f"{prefix}{key}/")
        elif key == "splits" and isinstance(value, list):
            for split in value:
                if isinstance(split, dict):
                    lengths = split.get("shardLengths")
                    shown = ", ".join(map(str, lengths)) if isinstance(lengths, list) else ""
                    flat.append((f"splits/{split.get('name')}", shown))
        elif value is not None:
            flat.append((prefix + key, value if isinstance(value, str) else json.dumps(value)))
    return flat


READER = RldsReader()
