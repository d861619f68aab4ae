"""What every export begins with: sessions that agree, rows that are planned, an account that is open."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Generic, Protocol

import numpy as np

from twinloop.core.errors import UsageError
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.deliver.account import Account, FeatureAccount
from twinloop.deliver.account_text import account_text
from twinloop.deliver.align import Align
from twinloop.deliver.features import FeatureSpec, agree, align_features, specs_of
from twinloop.deliver.plan import LeftOut, P, Planner, rows_per_second
from twinloop.deliver.rows import CameraClock, FixedClock, grid_ns
from twinloop.deliver.sidecar import Sidecar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.deliver.align import Aligned
    from twinloop.deliver.options import RowOptions
    from twinloop.deliver.source import ExportSource


class Progress(Protocol):
    """Told how far an export is."""

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` images are written."""


class Job(Generic[P]):
    """Sessions on their way into one dataset.

    Attributes:
        specs: feature -> what it is, the same in all sessions. planners: session -> its planner.
        fps: rows a second. plans: the dataset's episodes. account: of what is done.
    """

    def __init__(
        self,
        sources: Sequence[ExportSource],
        options: RowOptions,
        planner: Callable[[ExportSource], Planner[P]],
        format: str,
        progress: Progress | None = None,
        *,
        trainers: str = "trainers",
        grid: bool = True,
    ) -> None:
        self.sources = list(sources)
        self.options = options
        self._progress = progress
        self.specs = _agreed(self.sources)
        self.planners = {source.session: planner(source) for source in self.sources}
        chosen = [session.chosen() for session in self.planners.values()]
        if not any(taken for taken, _ in chosen):
            raise _nothing([left for _, lefts in chosen for left in lefts])
        self.fps = rows_per_second(list(self.planners.values()), options)
        self.plans: list[P] = []
        self.account = self._open_account(format, trainers, grid)
        for session in self.planners.values():
            for plan in session.plan(self.fps):
                if isinstance(plan, LeftOut):
                    self.account.left_out.append(plan)
                else:
                    self.plans.append(plan)
        if not self.plans:
            raise _nothing(self.account.left_out)
        self.total = sum(len(plan) * max(len(plan.images), 1) for plan in self.plans)
        self.done = 0

    def planner(self, plan: P) -> Planner[P]:
        """The planner of an episode's session."""
        return self.planners[plan.source.session]

    def aligned(self, plan: P) -> dict[str, Aligned]:
        """The numbers of an episode's rows."""
        return align_features(plan.source, plan.span.row_ns, self.options)

    def on_grid_ns(self, plan: P) -> NDArray[np.int64]:
        """(R,) int64, where a reader that knows only the rate puts an episode's rows."""
        return grid_ns(int(plan.span.row_ns[0]), len(plan), self.fps)

    def enter(
        self, index: int, plan: P, aligned: dict[str, Aligned], broken: dict[str, NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """Enter an episode into the account; returns which rows (R,) are valid."""
        for name, values in aligned.items():
            self.account.features[name].add(values, self.options.max_age_ns)
        valid = self.valid(plan, aligned, broken)
        self.account.add_episode(index, plan, self.on_grid_ns(plan), valid)
        return valid

    def valid(
        self, plan: P, aligned: dict[str, Aligned], broken: dict[str, NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """(R,) bool: rows whose samples are there, finite, and no older than allowed. `broken`: camera ->
        rows that do not show their own image."""
        rows, limit = plan.span.row_ns, self.options.max_age_ns
        valid = np.ones(len(rows), bool)
        for values in aligned.values():
            valid &= values.found & (np.abs(values.age_ns) <= limit)
            valid &= np.isfinite(values.values).all(axis=1)
        tables = self.planner(plan).tables
        for name, shown in plan.images.items():
            valid &= np.abs(rows - tables[name].times_ns[shown]) <= limit
        for rows_broken in broken.values():
            valid &= ~rows_broken
        return valid

    def source_ns(self, plan: P, aligned: dict[str, Aligned]) -> dict[str, NDArray[np.int64]]:
        """feature -> (R,) int64, the true time of the sample that each row took."""
        tables = self.planner(plan).tables
        shown = {name: tables[name].times_ns[images] for name, images in plan.images.items()}
        return {name: values.source_ns for name, values in aligned.items()} | shown

    def advance(self, images: int = 1) -> None:
        """Tell that so many more images are written."""
        self.done += images
        if self._progress is not None:
            self._progress(self.done, self.total)

    def conclude(self, sidecar: Sidecar | None) -> Account:
        """Draw the account's warnings; write times, facts and account into the sidecar and finish it."""
        self.account.conclude()
        if sidecar is not None:
            for source in self.sources:
                sidecar.write_times(source)
            sidecar.write_facts(self.sources, self.specs)
            sidecar.close()
            write_account(self.account, sidecar.folder)
        return self.account

    def _open_account(self, format: str, trainers: str, grid: bool) -> Account:
        options, clock = self.options, self.options.clock
        said = (
            f"the images of the camera {clock.camera}"
            if isinstance(clock, CameraClock)
            else f"a fixed grid of {clock.fps} rows a second from each episode's start"
        )
        account = Account(
            format, self.fps, said, options.align.value, options.max_age_ms, trainers=trainers, grid=grid
        )
        for source in self.sources:
            account.sources[source.session] = list(source.recordings) or [str(source.recording.path)]
        actions = {f.name for source in self.sources for f in source.features() if f.role is Role.ACTION}
        for name, spec in self.specs.items():
            if not spec.is_camera:
                held = name in actions or options.align is Align.LATEST
                account.features[name] = FeatureAccount("latest" if held else options.align.value)
        account.warnings += _made_up_times(self.sources)
        account.warnings += _no_rate(self.sources, self.fps, options)
        return account


def write_account(account: Account, folder: Path) -> None:
    """``account.json`` and ``ACCOUNT.md`` in `folder`."""
    text = json.dumps(account.to_json(), indent=2, ensure_ascii=False)
    (folder / "account.json").write_text(text + "\n", encoding="utf-8")
    (folder / "ACCOUNT.md").write_text(account_text(account), encoding="utf-8")


def homeless(sources: Sequence[ExportSource], format: str, kept_in: str) -> Iterable[str]:
    """A sentence for each stream that rows have no place for. `kept_in`: where what is kept of it stands."""
    said: dict[str, list[str]] = {}
    for source in sources:
        for feature in source.homeless_features():
            if feature.name != "task":  # that became the episodes' instructions
                kind = source.kind(feature).value
                said.setdefault(f"{feature.name}: {kind} has no place in {format}", []).append(source.session)
        mapped = {feature.stream for feature in source.mapping.features}
        for name, stream in source.recording.streams.items():
            if name not in mapped:
                kept = f"; see {kept_in}" if stream.kind is Kind.CAMERA_INFO else ""
                said.setdefault(f"{name}: no feature names it{kept}", []).append(source.session)
    for sentence, sessions in said.items():
        where = "" if len(sessions) == len(sources) else f" (sessions {', '.join(sessions)})"
        yield sentence + where


def _agreed(sources: Sequence[ExportSource]) -> dict[str, FeatureSpec]:
    if not sources:
        raise _nothing([])
    specs = specs_of(sources[0])
    for source in sources[1:]:
        agree(specs, specs_of(source), source.session, sources[0].session)
    return specs


def _nothing(left_out: list[LeftOut]) -> UsageError:
    why = Counter(left.why for left in left_out)
    listed = "; ".join(f"{reason} ({count})" for reason, count in why.most_common(5))
    return UsageError(
        "there is no episode to export",
        expected="at least one episode that is not excluded and has two rows",
        fix=f"left out: {listed}" if listed else "name sessions or episodes: see `twinloop ls`",
    )


def _no_rate(sources: Sequence[ExportSource], fps: int, options: RowOptions) -> list[str]:
    """A warning for steps without any rate: what the dataset says of it is not from its source."""
    names = sorted({feature.name for source in sources for feature in source.unrated_features()})
    if not names:
        return []
    said = f"{', '.join(names)}: the source declares no rate; steps are taken 1 s apart"
    if isinstance(options.clock, FixedClock):
        return [f"{said}, so that {fps} rows a second repeat each; without --clock fixed each step is one row"]
    if options.clock.fps is None:
        return [f"{said}, and the dataset says {fps} row a second; give the true rate: --fps N"]
    return [f"{said}; each is one row, and the dataset says {fps} rows a second, as asked for (--fps)"]


def _made_up_times(sources: Sequence[ExportSource]) -> list[str]:
    """A warning for streams whose stamps are index / rate: nothing here says when they were taken."""
    made_up = sorted(
        {
            feature.name
            for source in sources
            for feature in (*source.number_features(), *source.camera_features())
            if source.recording.streams[feature.stream].stamp_source is StampSource.GRID
        }
    )
    if not made_up:
        return []
    return [
        f"{', '.join(made_up)}: the source's times are a grid (index / rate), not measured; ages and distances "
        "here tell nothing of when the samples were taken"
    ]
