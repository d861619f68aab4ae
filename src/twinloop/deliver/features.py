"""The features of a dataset: what they are, and that all its sessions agree on them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import UsageError, Where
from twinloop.core.kinds import LAYOUTS, Kind, Role
from twinloop.deliver.align import Align, Aligned, align_samples, joined
from twinloop.deliver.source import CAMERA_KINDS
from twinloop.formats.mapping.feature import FeatureSamples, read_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from twinloop.core.mapping import Feature
    from twinloop.deliver.options import RowOptions
    from twinloop.deliver.source import ExportSource

#: How far before an episode its first row's sample is looked for at first.
_LOOK_BACK_NS = 5_000_000_000
#: Rows whose samples are in memory at a time.
_BLOCK_ROWS = 10_000

#: Names of four values in a row that are a quaternion wxyz.
_QUATERNION = re.compile(r"(.*?)w\|\1x\|\1y\|\1z")


class Form(StrEnum):
    """What the values of a feature are."""

    NUMBERS = "numbers"  # (D,) float64
    IMAGES = "images"  # (height, width, 3) uint8
    DEPTH = "depth"  # (height, width, 1) uint16


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """One feature of a dataset.

    Attributes:
        shape: (D,), or (height, width, channels). names: of the elements, or of the axes of an image.
        described: what else is known of it, ready for JSON.
    """

    name: str
    form: Form
    shape: tuple[int, ...]
    names: tuple[str, ...]
    unit: str = ""
    described: dict[str, object] = field(default_factory=dict, compare=False)

    @property
    def is_camera(self) -> bool:
        """Whether its values are images or depth."""
        return self.form is not Form.NUMBERS

    @property
    def depth(self) -> bool:
        """Whether its images are depth."""
        return self.form is Form.DEPTH


def specs_of(source: ExportSource) -> dict[str, FeatureSpec]:
    """feature name -> what it is in this session.

    Raises:
        UsageError: images outside of video files, a feature without samples, or no feature at all.
    """
    exported = (*source.number_features(), *source.camera_features())
    specs = {feature.name: _spec(source, feature) for feature in exported}
    if not specs:
        raise UsageError(
            "the session has no feature to export",
            where=f"session {source.session}",
            fix="write a mapping: twinloop map PATH",
        )
    return specs


def _spec(source: ExportSource, feature: Feature) -> FeatureSpec:
    where = Where(file=f"session {source.session}", stream=feature.stream)
    stream = source.recording.streams[feature.stream]
    described: dict[str, object] = {
        "stream": feature.stream,
        "field": feature.field,
        "role": feature.role.value,
        "unit": feature.unit,
        "space": feature.space,
        "representation": None if feature.representation is None else feature.representation.value,
        "applied": feature.applied,
        "kind": stream.kind.value,
        "type": stream.type_name,
        "stamp_source": stream.stamp_source.value,
        "timeline": stream.timeline,
    }
    if source.kind(feature) in CAMERA_KINDS:
        if not stream.segments:
            raise UsageError(
                f"the images of {feature.name} do not lie in video files that can be sought in",
                where=where,
                fix="take the recording into a store (`twinloop ingest`) and export from there",
            )
        first = stream.segments[0]
        form = Form.DEPTH if stream.kind is Kind.DEPTH else Form.IMAGES
        shape = (first.height, first.width, 1 if form is Form.DEPTH else 3)
        axes = ("height", "width", "channels")
        return FeatureSpec(feature.name, form, shape, axes, described=described)
    samples = _some_samples(source, feature)
    width = samples.values.shape[1]
    names = samples.names or tuple(f"{feature.name.rsplit('.', 1)[-1]}_{k}" for k in range(width))
    return FeatureSpec(feature.name, Form.NUMBERS, (width,), tuple(names), feature.unit, described)


def _some_samples(source: ExportSource, feature: Feature) -> FeatureSamples:
    for episode in source.episodes:
        samples = _read(source, (feature,), episode.start_ns, episode.end_ns)[feature.name]
        if len(samples):
            return samples
    raise UsageError(
        f"the feature {feature.name} has no sample in any episode",
        where=Where(file=f"session {source.session}", stream=feature.stream),
        fix="take it out of the mapping, or leave the session out of the export",
    )


def agree(specs: dict[str, FeatureSpec], others: dict[str, FeatureSpec], session: str, first: str) -> None:
    """Refuse a session whose features are not those of the first.

    Raises:
        UsageError: naming the feature and what differs.
    """
    if missing := sorted(specs.keys() - others.keys()):
        raise _differ(f"it lacks {', '.join(missing)}", session, first)
    if more := sorted(others.keys() - specs.keys()):
        raise _differ(f"it has {', '.join(more)}, which the first has not", session, first)
    for name, spec in specs.items():
        other = others[name]
        if spec.form is not other.form:
            raise _differ(f"{name} is {other.form.value}, not {spec.form.value}", session, first)
        if spec.shape != other.shape:
            raise _differ(f"{name} has shape {other.shape}, not {spec.shape}", session, first)
        if spec.names != other.names:
            raise _differ(f"{name} is of {', '.join(other.names)}, not {', '.join(spec.names)}", session, first)
        if spec.unit != other.unit:
            raise _differ(f"{name} is in {other.unit}, not {spec.unit}", session, first)


def _differ(what: str, session: str, first: str) -> UsageError:
    return UsageError(
        f"the sessions do not make one dataset: {what}",
        where=f"session {session} against session {first}",
        expected="the same features with the same elements, sizes and units in all sessions",
        fix="correct the mapping of one of them, or export them apart",
    )


def align_features(source: ExportSource, row_ns: NDArray[np.int64], options: RowOptions) -> dict[str, Aligned]:
    """Values of the features of numbers in rows (R,) of one episode. Actions hold, whatever
    `options.align`. Samples are read some thousand rows at a time, so memory does not grow with them."""
    blocks = np.split(row_ns, range(_BLOCK_ROWS, len(row_ns), _BLOCK_ROWS))
    parts = [_align_block(source, block, options) for block in blocks]
    return {name: joined([part[name] for part in parts]) for name in parts[0]}


def _align_block(source: ExportSource, row_ns: NDArray[np.int64], options: RowOptions) -> dict[str, Aligned]:
    features = source.number_features()
    samples = samples_around(source, features, int(row_ns[0]), int(row_ns[-1]), options.align)
    return {
        feature.name: align_samples(
            samples[feature.name].times_ns,
            samples[feature.name].values,
            row_ns,
            Align.LATEST if feature.role is Role.ACTION else options.align,
            _rotations(source, feature, samples[feature.name].names),
        )
        for feature in features
    }


def samples_around(
    source: ExportSource, features: tuple[Feature, ...], first_ns: int, last_ns: int, align: Align
) -> dict[str, FeatureSamples]:
    """The samples of features that rows from `first_ns` to `last_ns` can take."""
    # One interval beyond the last row is enough for nearest and interp; a second holds that for 1 Hz and up.
    end_ns = last_ns + (1 if align is Align.LATEST else 1_000_000_000)
    samples = _read(source, features, first_ns - _LOOK_BACK_NS, end_ns)
    late = tuple(f for f in features if not _holds_at(samples[f.name], first_ns))
    return samples | (_read(source, late, None, end_ns) if late else {})


def _holds_at(samples: FeatureSamples, time_ns: int) -> bool:
    return bool(len(samples.times_ns)) and int(samples.times_ns.min()) <= time_ns


def _read(
    source: ExportSource, features: tuple[Feature, ...], start_ns: int | None, end_ns: int | None
) -> dict[str, FeatureSamples]:
    return read_features(source.recording, features, start_ns, end_ns, models=source.models)


def _rotations(source: ExportSource, feature: Feature, names: tuple[str, ...]) -> tuple[int, ...]:
    """First columns of quaternions wxyz: by the layout of the stream's kind, else by their names."""
    layout = LAYOUTS[source.recording.streams[feature.stream].kind]
    column = next((c for c in layout if c.name.rstrip("?") == feature.field), None)
    if column is not None and column.meaning.startswith("wxyz") and len(names) == 4:
        return (0,)
    return tuple(
        first
        for first in range(len(names) - 3)
        if _QUATERNION.fullmatch("|".join(name.lower() for name in names[first : first + 4]))
    )
