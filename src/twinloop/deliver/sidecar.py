"""What a dataset's format has no place for, beside it in a folder that trainers do not look into.

``twinloop/rows.parquet`` has one row for each row of the dataset: its true time, its time on the grid,
whether it is valid, and the true time of the sample that each feature took. ``twinloop/episodes.parquet``
tells where each episode comes from. ``twinloop/times/<session>/<stream>.parquet`` has the times of every
sample of every stream at its own rate. Times are int64 nanoseconds.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from twinloop.core.kinds import TIME_COLUMNS, Kind
from twinloop.core.timeline import timeline_ns
from twinloop.deliver.row_stamps import row_stamps, said

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.plan import EpisodePlan
    from twinloop.deliver.source import ExportSource

FOLDER = "twinloop"
#: The same beside a single file, in messages.
BESIDE = "<file>.twinloop"


class Sidecar:
    """Writes the tables of one dataset into `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self._rows: pq.ParquetWriter | None = None
        self._episodes: list[dict[str, object]] = []

    def add_episode(
        self,
        episode_index: int,
        first_index: int,
        plan: EpisodePlan,
        on_grid_ns: NDArray[np.int64],
        valid: NDArray[np.bool_],
        source_ns: dict[str, NDArray[np.int64]],
    ) -> None:
        """The rows of one episode; `source_ns` maps feature to the true times (R,) of what each row took."""
        import pyarrow.parquet as pq

        rows = len(valid)
        table = pa.table(
            {
                "index": np.arange(first_index, first_index + rows),
                "episode_index": np.full(rows, episode_index, np.int64),
                "frame_index": np.arange(rows),
                "row_ns": plan.span.row_ns,
                "grid_ns": on_grid_ns,
                "valid": valid,
                **{f"{feature}/source_ns": times for feature, times in source_ns.items()},
            }
        )
        if self._rows is None:
            self._rows = pq.ParquetWriter(self.folder / "rows.parquet", table.schema)
        self._rows.write_table(table)
        self._episodes.append(_provenance(episode_index, plan))

    def write_times(self, source: ExportSource) -> None:
        """The times of all samples of all streams of a session within its episodes."""
        import pyarrow.parquet as pq

        folder = self.folder / "times" / quote(source.session, safe="")
        folder.mkdir(parents=True, exist_ok=True)
        writers: dict[str, pq.ParquetWriter] = {}
        starts = np.array([episode.start_ns for episode in source.episodes])
        ends = np.array([episode.end_ns for episode in source.episodes])
        # Models move the times: then all samples pass by.
        first, last = (None, None) if source.models else (int(starts.min()), int(ends.max()))
        try:
            for batch in source.recording.scan(start_ns=first, end_ns=last, payload=False):
                stream = source.recording.streams[batch.stream]
                times = timeline_ns(stream, batch.columns, source.models)
                inside = ((times[:, None] >= starts) & (times[:, None] < ends)).any(axis=1)
                names = [name for name in TIME_COLUMNS if name in batch.columns.schema.names]
                table = pa.table(
                    {"timeline_ns": times, **{name: batch.columns.column(name) for name in names}}
                ).filter(pa.array(inside))
                if batch.stream not in writers:
                    path = folder / f"{quote(batch.stream, safe='')}.parquet"
                    writers[batch.stream] = pq.ParquetWriter(path, table.schema)
                writers[batch.stream].write_table(table.cast(writers[batch.stream].schema))
        finally:
            for writer in writers.values():
                writer.close()

    def write_facts(self, sources: list[ExportSource], specs: dict[str, FeatureSpec]) -> None:
        """Calibration, units and meaning of the features, and what people stated of each session."""
        features = {name: {"names": list(spec.names), **spec.described} for name, spec in specs.items()}
        sessions: dict[str, dict[str, object]] = {
            source.session: {
                "recordings": list(source.recordings) or [str(file) for file in source.recording.files],
                "facts": asdict(source.facts) | {"meta": dict(source.facts.meta)},
                "clock_models": [
                    asdict(model) | {"source": str(model.source), "target": str(model.target)}
                    for model in source.models
                ],
                "calibration": source.recording.calibration,
                "camera_info": _camera_info(source),
                "static_transforms": _static_transforms(source),
                "metadata": source.recording.metadata,
            }
            for source in sources
        }
        facts = {"features": features, "sessions": sessions}
        text = json.dumps(facts, indent=2, ensure_ascii=False, default=str)
        (self.folder / "facts.json").write_text(text + "\n", encoding="utf-8")

    def close(self) -> None:
        """Finish the tables of rows and episodes."""
        import pyarrow.parquet as pq

        if self._rows is not None:
            self._rows.close()
            self._rows = None
        if self._episodes:
            pq.write_table(pa.Table.from_pylist(self._episodes), self.folder / "episodes.parquet")


def _camera_info(source: ExportSource) -> dict[str, object]:
    """The first sample of each stream of camera intrinsics."""
    found: dict[str, object] = {}
    for name, stream in source.recording.streams.items():
        if stream.kind is Kind.CAMERA_INFO:
            batches = source.recording.scan([name], payload=False)
            first = next((batch for batch in batches if len(batch)), None)
            if first is not None:
                found[name] = first.columns.slice(0, 1).to_pylist()[0]
    return found


def _static_transforms(source: ExportSource) -> dict[str, list[object]]:
    """All samples of the streams of transforms that do not change (ROS's ``/tf_static``)."""
    return {
        name: [row for batch in source.recording.scan([name]) for row in batch.columns.to_pylist()]
        for name, stream in source.recording.streams.items()
        if stream.kind is Kind.TRANSFORMS and name.rstrip("/").endswith("static")
    }


def _provenance(episode_index: int, plan: EpisodePlan) -> dict[str, object]:
    episode = plan.episode
    facts = plan.source.facts
    return {
        "episode_index": episode_index,
        "session": plan.source.session,
        "episode": episode.id,
        "part": plan.part,
        "parts": plan.parts,
        "recording": episode.recording,
        "start_ns": episode.start_ns,
        "end_ns": episode.end_ns,
        "instruction": episode.instruction,
        "outcome": episode.outcome.value,
        "excluded": episode.excluded,
        **{
            name: getattr(episode.facts, name) or getattr(facts, name)
            for name in ("task", "operator", "site", "robot", "rig", "consent")
        },
        "attributes": json.dumps(dict(episode.attributes), ensure_ascii=False),
        **said(row_stamps(plan.source)),
    }
