"""Tracks: the records of one kind of one stream, and how they become samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.clock import Clock, Epoch
from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, StampSource
from twinloop.core.recording import Problem
from twinloop.core.stream import Stream
from twinloop.core.units import UNDECLARED
from twinloop.formats.vrs.aria import ARRIVED, CAPTURED, UNITS, stream_name
from twinloop.formats.vrs.configuration import read_configuration, shape_of
from twinloop.formats.vrs.container import CONFIGURATION, DATA, STATE, DamagedError, Tags
from twinloop.formats.vrs.content import RecordFormat, record_format
from twinloop.formats.vrs.kinds import Shape, kind_of, pose_child

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes
    from twinloop.formats.vrs.container import Description, StreamId, VrsFile
    from twinloop.formats.vrs.index import Index

_NO_TAGS = Tags({}, {})
#: Magnetic fields of Aria are stored in microtesla (projectaria_tools scales them when it reads).
_ARIA_FIELD = 1e-6
#: Fields of a time for each sample of a record.
_LISTS = ("capture_timestamps_ns",)
_DEVICE = Clock(Epoch.DEVICE, "device")
_HOST = Clock(Epoch.UNKNOWN, "host")


@dataclass(frozen=True, slots=True)
class Track:
    """The records of one kind of one stream.

    Attributes:
        rows: (N,) int64, their numbers in the index. format: None: kept as bytes. version: of that format.
        captured: the field that holds the stamp; None: there is none, records are ordered by their own time.
        head: bytes of a record that hold all its fields; None: they are of any length.
    """

    stream: Stream
    rows: NDArray[np.int64]
    format: RecordFormat | None
    version: int
    shape: Shape
    captured: str | None
    head: int | None

    def with_span(self, start_ns: int | None, end_ns: int | None) -> Track:
        """The same with the first and last time of its samples."""
        return replace(self, stream=replace(self.stream, start_ns=start_ns, end_ns=end_ns))


@dataclass(frozen=True, slots=True)
class Opened:
    """All tracks by the name of their stream, and the configuration of each stream."""

    tracks: dict[str, Track]
    configurations: dict[str, Mapping[str, object]]


def open_tracks(file: VrsFile, description: Description, index: Index, device: int, notes: Notes) -> Opened:
    """The tracks of every stream that the tags, the index or a record name."""
    e = index.entries
    ids = dict.fromkeys([*description.streams, *index.declared, *index.met])
    tracks: dict[str, Track] = {}
    configurations: dict[str, Mapping[str, object]] = {}
    for stream in ids:
        tags = description.streams.get(stream, _NO_TAGS)
        name = _free(stream_name(stream, tags, device), tracks)
        configurations[name] = read_configuration(file, index, stream, tags)
        opener = _Opener(file, index, stream, tags, device, configurations[name], notes)
        tracks[name] = opener.track(name, DATA)
        for kind, word, more_than in ((CONFIGURATION, "configuration", 1), (STATE, "state", 0)):
            rows = index.rows(stream, kind)
            if len(rows) > more_than and (e["size"][rows] > file.record_header).any():
                tracks[f"{name}/{word}"] = opener.track(f"{name}/{word}", kind)
    return Opened(tracks, configurations)


@dataclass(frozen=True, slots=True)
class _Opener:
    """What tracks of one stream have in common."""

    file: VrsFile
    index: Index
    id: StreamId
    tags: Tags
    device: int
    configuration: Mapping[str, object]
    notes: Notes

    def track(self, name: str, record_type: int) -> Track:
        rows = self.index.rows(self.id, record_type)
        version = self._version(rows, record_type)
        format = self._format(name, record_type, version, len(rows))
        kind = Kind.RAW if format is None else kind_of(format, self.id.type)
        shape = Shape(name)
        if format is not None:
            shape = shape_of(name, format, self.configuration)
            if kind is Kind.IMAGE and shape.encoding in ("32FC1", "64FC1"):
                kind = Kind.DEPTH
        fields = {field.name for layout in (format.layouts[:1] if format else ()) for field in layout.fields}
        captured = next((field for field in CAPTURED if field in fields), None)
        times = [captured] if captured and captured not in _LISTS else []
        shape = replace(shape, times=(*times, ARRIVED) if captured else ())
        if kind is Kind.MAGNETOMETER and self.device:
            shape = replace(shape, field_scale=_ARIA_FIELD)
        head = None
        if format is not None and all(not layout.variable for layout in format.layouts):
            sizes = [max(b.size or 0, b.layout.fixed) for b in format.blocks if b.layout is not None]
            head = self.file.record_header + sum(sizes)
        stream = Stream(
            name,
            kind,
            count=len(rows),
            timeline="stamp_ns" if captured else "log_ns",
            stamp_source=self._source(kind, captured),
            stamp_clock=_DEVICE if captured else Clock(),
            log_clock=(_HOST if ARRIVED in fields else Clock()) if captured else _DEVICE,
            type_name=self.tags.vrs.get("VRS_Original_Recordable_Name", ""),
            encoding=f"vrs {self.id}",
            bytes=int(self.index.entries["size"][rows].astype(np.int64).sum()),
            rate_hz=_rate(self.configuration) if record_type == DATA else None,
            units=self._units(kind, fields),
            attributes=self._attributes(kind, format, shape),
        )
        return Track(stream, rows, format, version, shape, captured, head)

    def _version(self, rows: NDArray[np.int64], record_type: int) -> int:
        """The version of the first record; of an empty stream the newest that its tags define."""
        if len(rows):
            try:
                return int(self.file.record_at(int(self.index.offset[rows[0]]))["format_version"])
            except DamagedError:
                pass
        word = {DATA: "RF:Data:", CONFIGURATION: "RF:Configuration:", STATE: "RF:State:"}[record_type]
        numbers = [key.removeprefix(word) for key in self.tags.vrs if key.startswith(word)]
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def _format(self, name: str, record_type: int, version: int, records: int) -> RecordFormat | None:
        try:
            return record_format(self.tags, record_type, version)
        except DamagedError as error:
            if records:
                where = Where(str(self.file.path), stream=name)
                self.notes.add(Problem.SCHEMA, f"{error.what}; its records are kept as bytes", where)
            return None

    def _source(self, kind: Kind, captured: str | None) -> StampSource:
        if captured is None:
            return StampSource.NONE
        if kind in (Kind.IMAGE, Kind.DEPTH):
            return StampSource.EXPOSURE_MID if self.device else StampSource.DRIVER
        return StampSource.SENSOR

    def _units(self, kind: Kind, fields: set[str]) -> dict[str, str]:
        if self.device:
            return {name: unit for name, unit in UNITS.items() if name in fields}
        undeclared = {
            Kind.IMU: ("angular_velocity", "linear_acceleration"),
            Kind.MAGNETOMETER: ("field",),
            Kind.BAROMETER: ("pressure",),
        }
        return dict.fromkeys(undeclared.get(kind, ()), UNDECLARED)

    def _attributes(self, kind: Kind, format: RecordFormat | None, shape: Shape) -> dict[str, str]:
        found = {"stream_id": str(self.id)}
        found |= {f"tag/{key}": value for key, value in self.tags.user.items()}
        if flavor := self.tags.vrs.get("VRS_Recordable_Flavor"):
            found["flavor"] = flavor
        found |= {
            key: str(value)
            for key, value in self.configuration.items()
            if not key.endswith("_calibration") and value not in ("", None)
        }
        if kind in (Kind.IMAGE, Kind.DEPTH):
            found |= {"encoding": shape.encoding, "width": str(shape.width), "height": str(shape.height)}
        if kind is Kind.MAGNETOMETER and self.device:
            found["stored_unit"] = "uT"
        if kind is Kind.POSE and format is not None:
            found["child"] = pose_child(format) or ""
        return found


def _rate(configuration: Mapping[str, object]) -> float | None:
    for name in ("nominal_rate", "nominal_rate_hz", "sample_rate_hz", "sample_rate"):
        value = configuration.get(name)
        if isinstance(value, float) and math.isfinite(value) and value > 0:
            return value
    return None


def _free(name: str, taken: Mapping[str, object]) -> str:
    """The name, with a number where another stream has it already."""
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)
