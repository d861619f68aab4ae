"""Rows on their way into formats that hold images one by one: episode after episode to a format's writer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from twinloop.deliver.account import ImageAccount
from twinloop.deliver.frames import StillEncoder, pixels_of, stored_form
from twinloop.deliver.job import Job, homeless
from twinloop.deliver.pictures import bytes_at, pictures_at, shown_by_rows
from twinloop.deliver.plan import EpisodePlan, RowPlanner
from twinloop.deliver.sidecar import BESIDE, FOLDER, Sidecar
from twinloop.deliver.workspace import whole_file, whole_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.deliver.account import Account
    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.images import ImageTable
    from twinloop.deliver.job import Progress
    from twinloop.deliver.options import RowOptions
    from twinloop.deliver.source import ExportSource
    from twinloop.formats.video.probe import PacketIndex

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImageForm:
    """What a camera's images become. `form`: jpeg, png or raw. `own`: they are of that form already, and
    their bytes are taken over. `scale`: JPEG's quantiser for those that are not."""

    form: str
    own: bool
    why: str = ""
    scale: int = 2


@dataclass(slots=True)
class CameraRows:
    """A camera's images in the rows of one episode, read as they are asked for.

    Attributes:
        broken: (R,) bool, rows that show another image than their own, as far as they are read.
    """

    form: ImageForm
    table: ImageTable
    images: NDArray[np.int64]
    packets: Callable[[str], PacketIndex]
    account: ImageAccount
    advance: Callable[[], None]
    broken: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.broken = np.zeros(len(self.images), bool)

    def pixels(self) -> Iterator[NDArray[np.uint8] | NDArray[np.uint16]]:
        """Each row's image: RGB (H, W, 3) uint8, or depth (H, W, 1) uint16."""
        for row, (picture, own) in enumerate(self._shown(pictures_at)):
            self._count(row, own, encoded=True)
            yield pixels_of(picture)

    def files(self) -> Iterator[bytes]:
        """Each row's image as a file of `form`, which is not raw."""
        if self.form.own:
            for row, (data, own) in enumerate(self._shown(bytes_at)):
                self._count(row, own, encoded=False)
                yield data
            return
        encoder = StillEncoder(self.form.form, self.form.scale)
        place, data = -1, b""
        for row, (picture, own) in enumerate(self._shown(pictures_at)):
            if self.images[row] != place or not own:
                data = encoder.encode(picture)
                place = int(self.images[row])
            self._count(row, own, encoded=True)
            yield data

    def _shown(
        self, read: Callable[[PacketIndex, NDArray[np.int64]], Iterator[tuple[int, T]]]
    ) -> Iterator[tuple[T, bool]]:
        return shown_by_rows(self.table, self.images, self.packets, read)

    def _count(self, row: int, own: bool, *, encoded: bool) -> None:
        self.broken[row] = not own
        self.account.undecodable += not own
        self.account.copied += not encoded
        self.account.encoded += encoded
        if encoded and self.form.why:
            self.account.reasons[self.form.why] += 1
        self.advance()


@dataclass(frozen=True, slots=True)
class EpisodeRows:
    """One episode of the dataset, to be written.

    Attributes:
        index, first_row: its number, and that of its first row in the dataset.
        values: feature -> (R, D) float64. source_ns: feature -> (R,) int64, when what a row took was taken.
        cameras: feature -> its images.
    """

    index: int
    first_row: int
    fps: int
    plan: EpisodePlan
    values: dict[str, NDArray[np.float64]]
    source_ns: dict[str, NDArray[np.int64]]
    cameras: dict[str, CameraRows]
    numbers_valid: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.plan)

    @property
    def row_ns(self) -> NDArray[np.int64]:
        """(R,) int64, the true time of each row."""
        return self.plan.span.row_ns

    @property
    def valid(self) -> NDArray[np.bool_]:
        """(R,) bool: what the account says of each row; complete once all images are read."""
        valid = self.numbers_valid.copy()
        for camera in self.cameras.values():
            valid &= ~camera.broken
        return valid


class RowWriter(Protocol):
    """Writes one dataset of one format."""

    def add(self, episode: EpisodeRows) -> None:
        """Write an episode."""

    def close(self) -> None:
        """Finish: everything is written."""

    def abandon(self) -> None:
        """Let go of open files; what was written is thrown away."""


class RowFormat(Protocol):
    """A format that holds rows."""

    @property
    def title(self) -> str:
        """What accounts call it."""

    @property
    def single_file(self) -> bool:
        """Whether it is a file, not a folder."""

    @property
    def jpeg_scale(self) -> int:
        """The quantiser of JPEG that is encoded here, 1 (best) to 31."""

    def forms(self, stored: dict[str, str], specs: dict[str, FeatureSpec]) -> dict[str, str]:
        """camera -> jpeg, png or raw, from those that are JPEG or PNG already (else empty)."""

    def lost(self, job: Job[EpisodePlan]) -> list[str]:
        """What the sessions hold and this format has no place for.

        Raises:
            UsageError: it cannot hold them at all.
        """

    def open(self, path: Path, export: RowExport) -> RowWriter:
        """A writer at `path`, which is not there yet (a folder is, empty)."""


class RowExport:
    """One export of rows, planned.

    Attributes:
        job: sessions, plans, account. forms: camera -> what its images become.
    """

    def __init__(
        self,
        sources: Sequence[ExportSource],
        options: RowOptions,
        format: RowFormat,
        progress: Progress | None = None,
    ) -> None:
        self.format = format
        self.job: Job[EpisodePlan] = Job(
            sources, options, lambda source: RowPlanner(source, options), format.title, progress, grid=False
        )
        self.specs: dict[str, FeatureSpec] = self.job.specs
        self._images = {name: ImageAccount() for name, spec in self.specs.items() if spec.is_camera}
        self.job.account.cameras.update(self._images)
        self.job.account.lost += format.lost(self.job)
        beside = BESIDE if format.single_file else FOLDER
        self.job.account.lost += homeless(self.job.sources, format.title, f"{beside}/facts.json")
        stored = {name: self._stored(name) for name in self._images}
        self.forms = {
            name: self._form(name, form, stored[name])
            for name, form in format.forms(stored, self.specs).items()
        }

    @property
    def rows(self) -> int:
        """Rows of all episodes."""
        return sum(len(plan) for plan in self.job.plans)

    def run(self, out: Path | None, force: bool = False) -> Account:
        """Write it at `out`; None: only the account."""
        if out is None:
            return self._dry_run()
        if self.format.single_file:
            with whole_file(out, force) as (path, beside):
                return self._write(path, beside)
        with whole_folder(out, force) as root:
            return self._write(root, root / FOLDER)

    def _stored(self, camera: str) -> str:
        return stored_form(list(self.job.planners.values()), self.job.plans, camera)

    def _form(self, camera: str, form: str, stored: str) -> ImageForm:
        codecs = {
            segment.codec
            for planner in self.job.planners.values()
            for segment in planner.tables[camera].stream.segments
        }
        why = f"{', '.join(sorted(codecs))} to {'pixels' if form == 'raw' else form}"
        return ImageForm(form, form == stored, why, self.format.jpeg_scale)

    def _dry_run(self) -> Account:
        self.job.account.dry_run = True
        for index, plan in enumerate(self.job.plans):
            self._count_images(plan)
            for name, form in self.forms.items():
                account = self._images[name]
                account.copied += form.own * len(plan)
                account.encoded += (not form.own) * len(plan)
                if not form.own:
                    account.reasons[form.why] += len(plan)
            self.job.enter(index, plan, self.job.aligned(plan), {})
        return self.job.conclude(None)

    def _write(self, path: Path, beside: Path) -> Account:
        sidecar = Sidecar(beside)
        writer = self.format.open(path, self)
        first_row = 0
        try:
            for index, plan in enumerate(self.job.plans):
                self._write_episode(index, first_row, plan, writer, sidecar)
                first_row += len(plan)
            writer.close()
        except BaseException:
            writer.abandon()
            raise
        return self.job.conclude(sidecar)

    def _write_episode(
        self, index: int, first_row: int, plan: EpisodePlan, writer: RowWriter, sidecar: Sidecar
    ) -> None:
        job = self.job
        aligned = job.aligned(plan)
        planner = job.planner(plan)
        self._count_images(plan)
        cameras = {
            name: CameraRows(
                form, planner.tables[name], plan.images[name], planner.packets, self._images[name], job.advance
            )
            for name, form in self.forms.items()
        }
        source_ns = job.source_ns(plan, aligned)
        numbers = {name: rows.values for name, rows in aligned.items()}
        valid = job.valid(plan, aligned, {})
        episode = EpisodeRows(index, first_row, job.fps, plan, numbers, source_ns, cameras, valid)
        writer.add(episode)
        if not cameras:
            job.advance(len(plan))
        broken = {name: camera.broken for name, camera in cameras.items()}
        valid = job.enter(index, plan, aligned, broken)
        sidecar.add_episode(index, first_row, plan, job.on_grid_ns(plan), valid, source_ns)

    def _count_images(self, plan: EpisodePlan) -> None:
        tables = self.job.planner(plan).tables
        for name, shown in plan.images.items():
            self._images[name].add_rows(shown, tables[name].times_ns, plan.span.row_ns)
