"""The files of a dataset: its splits and shards, as dataset_info.json lists them and as they are there."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.notes import some

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from twinloop.formats.notes import Notes

#: What tensorflow_datasets calls its files: DATASET-SPLIT.FORMAT-SHARD-of-SHARDS.
_NAME = re.compile(r"^(?P<dataset>.+)-(?P<split>[^-]+)\.(?P<format>\w+)-(?P<shard>\d+)-of-(?P<of>\d+)(\.\w+)?$")


@dataclass(frozen=True, slots=True)
class Shard:
    """One file. `records`: how many dataset_info.json says it has, None where it says nothing."""

    path: Path
    split: str
    records: int | None


def read_dataset_info(path: Path, notes: Notes) -> dict[str, Any]:
    """dataset_info.json, empty, with a note, where it is missing or no JSON."""
    try:
        raw = json.loads(path.read_bytes())
    except OSError as error:
        notes.add(Problem.MISSING_FILE, f"cannot be read: {error.strerror}", Where(file=str(path)))
        return {}
    except (ValueError, RecursionError) as error:
        notes.add(Problem.CORRUPT, f"is no JSON: {error}", Where(file=str(path)))
        return {}
    return raw if isinstance(raw, dict) else {}


def find_shards(folder: Path, info: Mapping[str, Any], notes: Notes, only: Path | None = None) -> list[Shard]:
    """The files in order of split and shard; missing ones are noted.

    Raises:
        UnreadableError: there is not one.
    """
    found: dict[str, dict[int, Path]] = defaultdict(dict)
    others: list[Path] = []
    totals: dict[str, int] = {}
    for path in sorted(folder.iterdir()) if only is None else [only]:
        match = _NAME.match(path.name)
        if match and "tfrecord" in match["format"] and path.is_file():
            found[match["split"]][int(match["shard"])] = path
            totals[match["split"]] = max(int(match["of"]), totals.get(match["split"], 0))
        elif ".tfrecord" in path.name and path.is_file():
            others.append(path)
    if not found and not others:
        raise UnreadableError(
            "not one data file of the dataset is there",
            where=str(folder),
            expected="TFRecord files such as name-train.tfrecord-00000-of-00001",
            fix="copy the whole folder of the dataset's version",
        )
    declared: dict[str, list[int]] = _declared(info)
    shards: list[Shard] = []
    for split in [*(name for name in declared if name in found), *sorted(set(found) - set(declared))]:
        lengths = declared.get(split, [])
        here = found[split]
        total = max(totals[split], len(lengths))
        shards += [Shard(here[n], split, lengths[n] if n < len(lengths) else None) for n in sorted(here)]
        gone = sorted(set(range(min(total, 1_000_000))) - set(here))
        if gone and only is None:
            notes.add(
                Problem.MISSING_FILE,
                f"{len(gone)} of {total} files of split {split} are not there: {some(gone)}",
                Where(file=str(folder)),
                sum(lengths[n] for n in gone if n < len(lengths)) or None,
            )
    for split, lengths in declared.items():
        episodes = sum(lengths)
        if episodes and split not in found and only is None:
            notes.add(
                Problem.MISSING_FILE,
                f"dataset_info.json lists split {split} of {episodes} episodes; none of its files is there",
                Where(file=str(folder)),
                None,
            )
    return [*shards, *(Shard(path, "", None) for path in others)]


def _declared(info: Mapping[str, Any]) -> dict[str, list[int]]:
    """split -> records of each of its shards."""
    declared: dict[str, list[int]] = {}
    splits = info.get("splits")
    for split in splits if isinstance(splits, list) else []:
        if isinstance(split, dict):
            lengths = split.get("shardLengths")
            try:
                declared[str(split.get("name"))] = [int(n) for n in lengths or []]
            except (TypeError, ValueError):
                declared[str(split.get("name"))] = []
    return declared
