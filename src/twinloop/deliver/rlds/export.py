"""Episodes as RLDS: one record an episode."""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.core.session import Outcome
from twinloop.deliver.frames import Images, chosen_forms
from twinloop.deliver.keys import keys_of, rewards
from twinloop.deliver.rlds.example import Pieces, bytes_list, example, float_list, int_list, record
from twinloop.deliver.rlds.features import Node, dataset, features_dict, image, tensor, text
from twinloop.deliver.rlds.options import RldsOptions
from twinloop.deliver.row_export import EpisodeRows, RowExport
from twinloop.deliver.row_stamps import row_stamps, said
from twinloop.deliver.sidecar import FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.deliver.account import Account
    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.job import Job, Progress
    from twinloop.deliver.plan import EpisodePlan
    from twinloop.deliver.source import ExportSource

VERSION = "1.0.0"
TIMESTAMP = "timestamp_ns"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def export_rlds(
    sources: Sequence[ExportSource],
    out: Path | None,
    options: RldsOptions,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Account:
    """Write the episodes of `sources` as one RLDS dataset, the folder `out`; see `Exporter.export`.

    An episode is one record, so its images, encoded, are in memory at once.
    """
    return RowExport(sources, options, _Rlds(options), progress).run(out, force)


class _Rlds:
    title = "RLDS"
    single_file = False

    def __init__(self, options: RldsOptions) -> None:
        if not _NAME.fullmatch(options.name):
            raise UsageError(
                f"a dataset cannot be named {options.name!r}", expected="--name in snake case, as TFDS has it"
            )
        if options.images is Images.RAW:
            raise UsageError("RLDS keeps images as files", expected="--images own, png or jpeg")
        if not options.shard_mb > 0:
            raise UsageError(f"files of {options.shard_mb:g} MB", expected="--shard-size above 0")
        self.options = options

    @property
    def jpeg_scale(self) -> int:
        return self.options.jpeg_scale

    def forms(self, stored: dict[str, str], specs: dict[str, FeatureSpec]) -> dict[str, str]:
        return chosen_forms(self.options.images, stored, specs)

    def lost(self, job: Job[EpisodePlan]) -> list[str]:
        lost = [
            f"units, frames and what actions are relative to, calibration: see {FOLDER}/facts.json",
            f"operator, site, rig, consent: see {FOLDER}/episodes.parquet",
            f"times of samples between rows: see {FOLDER}/times/",
        ]
        if not self.options.times:
            lost.insert(0, f"true times (--no-times): see {FOLDER}/rows.parquet")
        if not self.options.float64:
            lost.append("precision: numbers are stored as 32-bit floats; --float64 keeps all bits")
        if any(plan.episode.outcome is Outcome.UNKNOWN for plan in job.plans):
            lost.append("reward: where no outcome is known it is 0 in every step; see `outcome` of the episode")
        return lost

    def open(self, path: Path, export: RowExport) -> _Writer:
        return _Writer(path, export, self.options)


class _Writer:
    """TFRecord files that roll over by size; named by their number and how many there are at the end."""

    def __init__(self, root: Path, export: RowExport, options: RldsOptions) -> None:
        self._root = root
        self._export = export
        self._options = options
        self._keys = keys_of(export.specs)
        self._times = options.times and TIMESTAMP not in self._keys.observations.values()
        self._shards: list[list[int]] = []  # records and bytes of each file
        self._file: IO[bytes] | None = None

    def add(self, episode: EpisodeRows) -> None:
        framed = record(example(self._features(episode)))
        size = sum(map(len, framed))
        if not self._shards or self._shards[-1][1] + size > self._options.shard_mb * 1e6:
            self._next_file()
        assert self._file is not None
        self._file.writelines(framed)
        self._shards[-1][0] += 1
        self._shards[-1][1] += size

    def close(self) -> None:
        self.abandon()
        for number in range(len(self._shards)):
            self._part(number).rename(self._root / self._shard_name(number))
        self._write_json("features.json", self._described())
        self._write_json("dataset_info.json", self._info())

    def abandon(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _next_file(self) -> None:
        self.abandon()
        self._shards.append([0, 0])
        self._file = self._part(len(self._shards) - 1).open("wb")

    def _part(self, number: int) -> Path:
        return self._root / f".shard-{number}"

    def _shard_name(self, number: int) -> str:
        return f"{self._options.name}-train.tfrecord-{number:05d}-of-{len(self._shards):05d}"

    def _features(self, episode: EpisodeRows) -> dict[str, Pieces]:
        rows, plan = len(episode), episode.plan
        succeeded = plan.episode.outcome is Outcome.SUCCESS and plan.part == plan.parts - 1
        last = np.arange(rows) == rows - 1
        whole = plan.part == plan.parts - 1
        features = {
            "steps/action": self._numbers(self._keys.action(episode.values, rows)),
            "steps/reward": float_list(rewards(succeeded, rows)),
            "steps/discount": float_list(np.ones(rows)),
            "steps/is_first": int_list(np.arange(rows) == 0),
            "steps/is_last": int_list(last),
            "steps/is_terminal": int_list(last & whole),
            "steps/language_instruction": bytes_list([plan.task.encode()] * rows),
            **{f"episode_metadata/{key}": value for key, value in _metadata(episode).items()},
        }
        for name, key in self._keys.observations.items():
            features[f"steps/observation/{key}"] = self._numbers(episode.values[name])
        for name, key in self._keys.others.items():
            features[f"steps/{key}"] = self._numbers(episode.values[name])
        for name, key in self._keys.cameras.items():
            features[f"steps/observation/{key}"] = bytes_list(episode.cameras[name].files())
        features["steps/valid"] = int_list(episode.valid)
        if self._times:
            features[f"steps/observation/{TIMESTAMP}"] = int_list(episode.row_ns)
        return features

    def _numbers(self, values: NDArray[np.float64]) -> Pieces:
        if self._options.float64:
            return bytes_list(row.tobytes() for row in np.ascontiguousarray(values, "<f8"))
        return float_list(values)

    def _described(self) -> Node:
        specs = self._export.specs
        keys = self._keys
        numbers = {
            name: self._tensor(spec.shape, _said(spec)) for name, spec in specs.items() if not spec.is_camera
        }
        observation = {key: numbers[name] for name, key in keys.observations.items()}
        for name, key in keys.cameras.items():
            spec, form = specs[name], self._export.forms[name].form
            dtype = "uint16" if spec.depth else "uint8"
            observation[key] = image(self._shape(name), form, dtype, _said(spec))
        if self._times:
            observation[TIMESTAMP] = tensor((), "int64", "The row's time, in ns on the session's timeline.")
        names = keys.action_names(specs)
        flag, scalar = tensor((), "bool"), tensor((), "float32")
        steps: dict[str, Node] = {
            "observation": features_dict(observation),
            "action": self._tensor((len(names),), f"Of {', '.join(names)}."),
            "reward": scalar | {"description": "1 in the last step of a success, else 0."},
            "discount": scalar,
            "is_first": flag,
            "is_last": flag,
            "is_terminal": flag,
            "language_instruction": text("What is to be done."),
            "valid": flag | {"description": "Whether all samples are there, whole, and young enough."},
            **{key: numbers[name] for name, key in keys.others.items()},
        }
        episode = {key: text() for key in _METADATA} | {key: tensor((), "int64") for key in ("start_ns", "fps")}
        return features_dict(
            {"steps": dataset(features_dict(steps)), "episode_metadata": features_dict(episode)}
        )

    def _shape(self, camera: str) -> tuple[int, ...]:
        """(height, width, channels) of a camera's images; -1 where sizes differ."""
        shape = self._export.specs[camera].shape
        planners = self._export.job.planners.values()
        segments = [segment for planner in planners for segment in planner.tables[camera].stream.segments]
        same = all((segment.height, segment.width) == shape[:2] for segment in segments)
        return shape if same else (-1, -1, shape[2])

    def _tensor(self, shape: tuple[int, ...], description: str) -> Node:
        if self._options.float64:
            return tensor(shape, "float64", description, "bytes")
        return tensor(shape, "float32", description)

    def _info(self) -> dict[str, object]:
        return {
            "description": "Exported by twinloop; what was resampled and lost stands in twinloop/ACCOUNT.md.",
            "fileFormat": "tfrecord",
            "moduleName": "twinloop",
            "name": self._options.name,
            "releaseNotes": {VERSION: "Exported."},
            "splits": [
                {
                    "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
                    "name": "train",
                    "numBytes": str(sum(size for _, size in self._shards)),
                    "shardLengths": [str(records) for records, _ in self._shards],
                }
            ],
            "version": VERSION,
        }

    def _write_json(self, name: str, content: object) -> None:
        text = json.dumps(content, indent=4, ensure_ascii=False)
        (self._root / name).write_text(text + "\n", encoding="utf-8")


_METADATA = ("session", "episode", "recording", "outcome", "task", "robot", "stamp_source", "clock")


def _metadata(episode: EpisodeRows) -> dict[str, Pieces]:
    """What is known of an episode, as features."""
    plan = episode.plan
    facts = plan.source.facts
    known = {
        "session": plan.source.session,
        "episode": plan.episode.id,
        "recording": plan.episode.recording,
        "outcome": plan.episode.outcome.value,
        "task": plan.episode.facts.task or facts.task or "",
        "robot": plan.episode.facts.robot or facts.robot or "",
        **said(row_stamps(plan.source)),
    }
    features = {key: bytes_list([value.encode()]) for key, value in known.items()}
    return features | {"start_ns": int_list(episode.row_ns[:1]), "fps": int_list(np.array([episode.fps]))}


def _said(spec: FeatureSpec) -> str:
    """A feature in words."""
    if spec.is_camera:
        return f"{spec.name}, from {spec.described['stream']}."
    return f"{spec.name} [{spec.unit}]: {', '.join(spec.names)}."
