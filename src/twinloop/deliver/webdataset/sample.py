"""The files of samples that are no images: arrays, and JSON of where a sample comes from."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.deliver.sidecar import FOLDER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.deliver.plan import EpisodePlan
    from twinloop.deliver.row_export import EpisodeRows
    from twinloop.deliver.webdataset.options import WebDatasetOptions


def lost(options: WebDatasetOptions) -> list[str]:
    """What samples have no place for."""
    said = [
        f"units, frames, calibration, names of elements: see {FOLDER}/facts.json",
        f"operator, site, rig, consent: see {FOLDER}/episodes.parquet",
        f"times of samples between rows: see {FOLDER}/times/",
    ]
    if options.float32:
        said.append("precision: numbers are stored as 32-bit floats (--float32)")
    return said


def npy(values: NDArray[Any]) -> bytes:
    """An array as NumPy's own file."""
    target = io.BytesIO()
    np.save(target, np.ascontiguousarray(values))
    return target.getvalue()


def told(facts: dict[str, object]) -> bytes:
    """Facts as JSON."""
    return json.dumps(facts, ensure_ascii=False).encode()


def provenance(index: int, plan: EpisodePlan) -> dict[str, object]:
    """What is the same in all samples of an episode."""
    return {
        "episode_index": index,
        "instruction": plan.task,
        "outcome": plan.episode.outcome.value,
        "session": plan.source.session,
        "episode": plan.episode.id,
        "recording": plan.episode.recording,
    }


def step(episode: EpisodeRows, row: int) -> dict[str, object]:
    """What is known of one step."""
    return {
        "step": row,
        "is_first": row == 0,
        "is_last": row == len(episode) - 1,
        "time_ns": int(episode.row_ns[row]),
        "source_ns": {name: int(times[row]) for name, times in episode.source_ns.items()},
        "valid": bool(episode.numbers_valid[row])
        and not any(camera.broken[row] for camera in episode.cameras.values()),
    }
