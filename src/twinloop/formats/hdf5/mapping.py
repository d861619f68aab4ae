"""The mapping file of an HDF5 file of any other layout: what its datasets mean.

It lies beside the file as ``<file>.twinloop.toml``:

    schema = 1

    [episodes]
    groups = "runs/*"                # each group is one episode; left out: the file is one
    instruction = "task"             # an attribute of the group, or a dataset of one text

    [time]
    dataset = "t"                    # paths are within the episode's group
    unit = "s"                       # s, ms, us, ns
    source = "sensor"                # what the stamps are, see `StampSource`
    epoch = "unix"                   # what they count from, see `Epoch`
    # or, where there are no times:  rate_hz = 20

    [[streams]]
    name = "observation.state"
    kind = "joints"
    columns.position = "robot/q"     # a dataset, all of its elements
    names = ["shoulder", "elbow"]
    units.position = "deg"

    [[streams]]
    name = "observation.pose"
    kind = "pose"
    columns.position = ["ee[0]", "ee[1]", "ee[2]"]
    columns.orientation = ["ee[6]", "ee[3]", "ee[4]", "ee[5]"]      # w x y z

    [[streams]]
    name = "observation.images.front"
    kind = "image"
    dataset = "cam0"

Units and kinds are those of tables' mapping files. Without [[streams]] every dataset becomes a stream.
"""

from __future__ import annotations

import fnmatch
import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import MappingError, UnknownNameError
from twinloop.core.kinds import PAYLOAD_KINDS, Kind, StampSource
from twinloop.formats.hdf5.mapped import Mapped
from twinloop.formats.hdf5.plan import Plan, PlannedEpisode, PlannedStream, TimeColumn, Times, sample_of
from twinloop.formats.hdf5.tree import flat_attributes
from twinloop.formats.steps.decode import Joints, PackedPictures, decoder_for
from twinloop.formats.steps.names import distinct, role_of, stream_name
from twinloop.formats.table.fields import plan_streams
from twinloop.formats.table.sidecar import MappedStream, TableMapping

if TYPE_CHECKING:
    from twinloop.formats.hdf5.tree import Tree
    from twinloop.formats.notes import Notes
    from twinloop.formats.steps.arrays import Array
    from twinloop.formats.steps.decode import Decoder

SUFFIX = ".twinloop.toml"
_ELEMENT = re.compile(r"^(?P<dataset>.+)\[(?P<element>\d{1,6})\]$")
#: More elements than this are no columns.
_MOST_ELEMENTS = 512


class EpisodeGroups(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which groups are episodes."""

    groups: str = ""
    instruction: str | None = None


class TimeDataset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where times are, or the rate of the steps where there are none."""

    dataset: str | None = None
    unit: Literal["s", "ms", "us", "ns"] = "s"
    source: StampSource = StampSource.DRIVER
    epoch: Epoch = Epoch.UNKNOWN
    rate_hz: float | None = None


class MappedArray(MappedStream, frozen=True, forbid_unknown_fields=True):
    """One stream: `columns` as of a table, with datasets and their elements as columns; or one `dataset`."""

    dataset: str | None = None
    time: TimeDataset | None = None


class Hdf5Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole mapping file."""

    schema: Literal[1] = 1
    episodes: EpisodeGroups = EpisodeGroups()
    time: TimeDataset = TimeDataset()
    streams: tuple[MappedArray, ...] = ()


def find_mapping(path: Path) -> Path | None:
    """The mapping file beside an HDF5 file."""
    own = path.with_name(path.name + SUFFIX)
    return own if own.is_file() else None


def load_mapping(path: Path) -> Hdf5Mapping:
    """The mapping file at `path`.

    Raises:
        MappingError: it does not parse, or says something that there is not.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        if not raw:
            raise ValueError("it is empty")
        return msgspec.convert(raw, Hdf5Mapping)
    except OSError as error:
        raise MappingError(f"the mapping cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:  # tomllib's and msgspec's errors alike
        raise MappingError(
            f"the mapping of an HDF5 file does not parse: {error}",
            where=str(path),
            expected="[episodes], [time], [[streams]] with name, kind and dataset or columns",
            fix="see docs/mapping.md",
        ) from error


def plan_mapped(tree: Tree, mapping: Hdf5Mapping, path: Path, notes: Notes) -> Plan:  # noqa: ARG001
    """Episodes and streams as a mapping file says.

    Raises:
        MappingError: it names a dataset, group or element that is not there.
    """
    episodes = _episodes(tree, mapping, path)
    times = _times(tree, episodes, mapping.time, path)
    if mapping.streams:
        streams = [_stream(tree, episodes, one, times, path) for one in mapping.streams]
    else:
        streams = _all_streams(tree, episodes, times, mapping.time.dataset)
    return Plan(
        f"mapping {path.name}",
        episodes,
        tuple(streams),
        mapping.time.rate_hz,
        flat_attributes(tree.attributes("")),
        (path,),
    )


def _episodes(tree: Tree, mapping: Hdf5Mapping, path: Path) -> tuple[PlannedEpisode, ...]:
    pattern = mapping.episodes.groups
    depth = pattern.count("/")
    groups = [g for g in tree.groups if g.count("/") == depth and fnmatch.fnmatchcase(g, pattern)]
    groups = groups if pattern else [""]
    if not groups:
        raise MappingError(
            f"[episodes] groups = {pattern!r} fits no group",
            where=str(path),
            expected=f"groups such as {', '.join(tree.groups[1:6]) or 'none: the file has no groups'}",
        )
    groups.sort(key=lambda g: [int(p) if p.isdigit() else p for p in re.split(r"(\d{1,12})", g)][1::2] or [0])
    return tuple(
        PlannedEpisode(
            group,
            _instruction(tree, group, mapping.episodes.instruction),
            None,
            {**({"group": group} if group else {}), **flat_attributes(tree.attributes(group))},
        )
        for group in groups
    )


def _instruction(tree: Tree, group: str, key: str | None) -> str | None:
    if key is None:
        return None
    said = tree.attributes(group).get(key)
    return said if isinstance(said, str) else tree.text(f"{group}/{key}" if group else key)


def _times(tree: Tree, episodes: tuple[PlannedEpisode, ...], said: TimeDataset, path: Path) -> Times | None:
    if said.dataset is None:
        return None
    _require(tree, episodes, said.dataset, f"{path}, [time]")
    clock = Clock(said.epoch)
    return Times({"stamp_ns": TimeColumn(((said.dataset, said.unit),))}, "stamp_ns", said.source, clock, clock)


def _stream(
    tree: Tree, episodes: tuple[PlannedEpisode, ...], said: MappedArray, times: Times | None, path: Path
) -> PlannedStream:
    where = f"{path}, stream {said.name}"
    if said.time is not None:
        times = _times(tree, episodes, said.time, path)
    if said.dataset is not None and said.columns:
        raise MappingError("a stream has a dataset or columns, not both", where=where)
    units: dict[str, str] = dict(said.units)
    decoder: Decoder
    if said.dataset is not None:
        array = _require(tree, episodes, said.dataset, where)
        decoder = _whole(array, said, where)
    else:
        decoder, units = _mapped(tree, episodes, said, path, where)
    return PlannedStream(
        said.name,
        decoder,
        times,
        said.role or role_of(said.name),
        said.rate_hz,
        units,
        {"key": ", ".join(decoder.sources)},
    )


def _whole(array: Array, said: MappedArray, where: str) -> Decoder:
    """A stream that is one dataset: pictures, texts, joints, numbers."""
    assert said.dataset is not None
    if said.kind is Kind.JOINTS and array.is_number:
        return Joints(said.dataset, "position", said.names)
    if said.kind is Kind.IMAGE and array.dtype.name == "uint8" and len(array.shape) == 2:
        return PackedPictures(said.dataset)
    depth = said.dataset if said.kind is not Kind.DEPTH else f"{said.dataset}/depth"
    found = decoder_for(replace(array, path=said.dataset), depth)
    if found is not None and depth != said.dataset:
        found = replace(found, source=said.dataset)  # type: ignore[type-var]
    if found is None or (
        found.kind is not said.kind and {found.kind, said.kind} & (PAYLOAD_KINDS | {Kind.TEXT})
    ):
        raise MappingError(
            f"dataset {said.dataset}, {array.dtype} of shape {array.shape}, is no {said.kind.value}",
            where=where,
            expected=f"kind = {found.kind.value!r}" if found else "numbers, texts or pictures",
        )
    return found


def _mapped(
    tree: Tree, episodes: tuple[PlannedEpisode, ...], said: MappedArray, path: Path, where: str
) -> tuple[Decoder, dict[str, str]]:
    """A stream whose columns are elements of datasets."""
    elements: dict[str, tuple[str, int | None]] = {}
    columns: dict[str, tuple[str, ...]] = {}
    for name, value in said.columns.items():
        listed: list[str] = []
        for source in (value,) if isinstance(value, str) else value:
            listed += _elements(tree, episodes, source, where, elements)
        columns[name] = tuple(listed)
    table = MappedStream(
        name=said.name,
        kind=said.kind,
        columns=dict(columns),
        units=said.units,
        names=said.names,
        frame_id=said.frame_id,
    )
    plan = plan_streams(TableMapping(streams=(table,), path=str(path)), tuple(elements), None)[0]
    return Mapped(plan, elements), plan.units


def _elements(
    tree: Tree,
    episodes: tuple[PlannedEpisode, ...],
    source: str,
    where: str,
    elements: dict[str, tuple[str, int | None]],
) -> list[str]:
    """The columns of ``dataset`` or ``dataset[k]``, known to `elements` from then on."""
    match = _ELEMENT.match(source)
    name = match["dataset"] if match else source
    array = _require(tree, episodes, name, where)
    width = math.prod(array.shape[1:])
    if width > _MOST_ELEMENTS or not (array.is_number or array.is_text):
        raise MappingError(f"dataset {name} of shape {array.shape} makes no columns", where=where)
    wanted = [int(match["element"])] if match else list(range(width))
    if wanted[-1:] and wanted[-1] >= width:
        raise MappingError(f"dataset {name} has {width} elements a row, not {wanted[-1] + 1}", where=where)
    names = [name if width == 1 else f"{name}[{k}]" for k in wanted]
    elements.update(zip(names, ((name, k) for k in wanted), strict=True))
    return names


def _all_streams(
    tree: Tree, episodes: tuple[PlannedEpisode, ...], times: Times | None, time: str | None
) -> list[PlannedStream]:
    sources = dict.fromkeys(source for episode in episodes for source in tree.children(episode.group))
    streams: list[PlannedStream] = []
    names: set[str] = set()
    for source in sources:
        array = sample_of(tree, episodes, source)
        decoder = decoder_for(array, source) if array is not None and source != time else None
        if decoder is not None:
            name = distinct(stream_name(source, picture=decoder.kind in (Kind.IMAGE, Kind.DEPTH)), names)
            names.add(name)
            streams.append(PlannedStream(name, decoder, times, role_of(name), attributes={"key": source}))
    return streams


def _require(tree: Tree, episodes: tuple[PlannedEpisode, ...], source: str, where: str) -> Array:
    array = sample_of(tree, episodes, source)
    if array is None or not array.shape:
        known: list[Any] = [child for episode in episodes[:1] for child in tree.children(episode.group)]
        error = UnknownNameError("dataset", source, known)
        raise MappingError(error.what, where=where, expected=error.expected, fix=error.fix)
    return array
