"""VRS files made on purpose: any stream types, layouts and compression, with or without an index."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

_HEADER = struct.Struct("<8sQIIqqq3Q4s4s")
_RECORD = struct.Struct("<IIiIdHBBI")
_STATE, _CONFIGURATION, _DATA = 1, 2, 3
_NUMBERS = {
    "Bool": "?",
    "uint8_t": "u1",
    "int8_t": "i1",
    "uint32_t": "<u4",
    "int32_t": "<i4",
    "int64_t": "<i8",
    "uint64_t": "<u8",
    "float": "<f4",
    "double": "<f8",
    "Point3Df": "<f4",
    "Point3Dd": "<f8",
    "Point4Dd": "<f8",
    "Point4Df": "<f4",
}
_WIDTHS = {"Point3Df": 3, "Point3Dd": 3, "Point4Dd": 4, "Point4Df": 4}

#: Fields of a layout: name -> ``int64_t``, ``float[3]``, ``Point3Dd``, ``string``, ``vector<int64_t>``, ...
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class VrsRecord:
    """One record: its own time, the values of its fields, and the bytes after them."""

    time_s: float
    values: Mapping[str, object] = field(default_factory=dict)
    bulk: bytes = b""


@dataclass(frozen=True, slots=True)
class VrsTrack:
    """One stream. `bulk`: what follows the fields of a data record, e.g. ``image/jpg``."""

    type: int
    instance: int
    name: str
    fields: Fields
    records: Sequence[VrsRecord] = ()
    configuration: Mapping[str, tuple[str, object]] = field(default_factory=dict)
    bulk: str = ""
    flavor: str = "device/aria"
    tags: Mapping[str, str] = field(default_factory=dict)
    version: int = 1


def write_vrs(
    path: Path,
    tracks: Sequence[VrsTrack],
    file_tags: Mapping[str, str] | None = None,
    *,
    compression: int = 0,
    index: str = "front",
) -> Path:
    """Write a file. `compression`: 0 none, 1 lz4, 2 zstd, where that makes a record smaller.

    `index`: ``front`` (before the records, as Aria writes it), ``end``, or ``none`` (an interrupted recording).
    """
    records = sorted(_records(tracks), key=lambda record: record[0])
    bodies = [_packed(record, compression) for record in records]
    description = _description(tracks, file_tags or {})
    at = _HEADER.size + len(description)
    sizes = [_RECORD.size + len(body) for body, _ in bodies]
    listing = _index(tracks, records, sizes)
    index_at = {"front": at, "end": at + sum(sizes), "none": 0}[index]
    first = at + len(listing) if index == "front" else at
    header = _HEADER.pack(
        b"VisionRe", 1, _HEADER.size, _RECORD.size, index_at, _HEADER.size, first, 0, 0, 0, b"cord", b"VRS2"
    )
    parts = [header, description, *([listing] if index == "front" else [])]
    before = len(description)
    for (time, track, kind, _), (body, kept), size in zip(records, bodies, sizes, strict=True):
        compressed, full = kept
        head = (size, before, track.type, track.version, time, track.instance, kind, compressed, full)
        parts += [_RECORD.pack(*head), body]
        before = size
    parts += [listing] if index == "end" else []
    path.write_bytes(b"".join(parts))
    return path


_Record = tuple[float, VrsTrack, int, bytes]


def _records(tracks: Sequence[VrsTrack]) -> list[_Record]:
    made: list[_Record] = []
    for track in tracks:
        if track.configuration:
            fields = {name: type_ for name, (type_, _) in track.configuration.items()}
            values = {name: value for name, (_, value) in track.configuration.items()}
            made.append((0.0, track, _CONFIGURATION, _block(fields, values)))
        made.append((0.0, track, _STATE, b""))
        made += [(r.time_s, track, _DATA, _block(track.fields, r.values) + r.bulk) for r in track.records]
    return made


def _packed(record: _Record, compression: int) -> tuple[bytes, tuple[int, int]]:
    body = record[3]
    if not compression or not body:
        return body, (0, 0)
    if compression == 1:
        import lz4.frame

        packed = lz4.frame.compress(body)
    else:
        import zstandard

        packed = zstandard.ZstdCompressor().compress(body)
    return (packed, (compression, len(body))) if len(packed) < len(body) else (body, (0, 0))


def _index(tracks: Sequence[VrsTrack], records: list[_Record], sizes: list[int]) -> bytes:
    import zstandard

    streams = b"".join(struct.pack("<iH", track.type, track.instance) for track in tracks)
    prelude = struct.pack("<I", len(tracks)) + streams + struct.pack("<I", len(records))
    entries = b"".join(
        struct.pack("<dIBiH", time, size, kind, track.type, track.instance)
        for (time, track, kind, _), size in zip(records, sizes, strict=True)
    )
    payload = prelude + zstandard.ZstdCompressor().compress(entries)
    size = _RECORD.size + len(payload)
    return _RECORD.pack(size, 0, 1, 2, 0.0, 0, 4, 2, len(prelude) + len(entries)) + payload


def _description(tracks: Sequence[VrsTrack], file_tags: Mapping[str, str]) -> bytes:
    streams = b"".join(
        struct.pack("<iH", track.type, track.instance) + _texts(track.tags) + _texts(_vrs_tags(track))
        for track in tracks
    )
    payload = struct.pack("<I", len(tracks)) + streams + _texts(file_tags)
    return _RECORD.pack(_RECORD.size + len(payload), 0, 2, 2, 0.0, 0, 4, 0, 0) + payload


def _vrs_tags(track: VrsTrack) -> dict[str, str]:
    version = track.version
    tags = {
        f"RF:Data:{version}": "+".join(filter(None, ["data_layout" if track.fields else "", track.bulk])),
        "VRS_Original_Recordable_Name": track.name,
        "VRS_Recordable_Flavor": track.flavor,
        f"RF:State:{version}": "empty",
    }
    if track.fields:
        tags[f"DL:Data:{version}:0"] = _layout(track.fields)
    if track.configuration:
        tags[f"RF:Configuration:{version}"] = "data_layout"
        tags[f"DL:Configuration:{version}:0"] = _layout({n: t for n, (t, _) in track.configuration.items()})
    return tags


def _layout(fields: Fields) -> str:
    offset, number, pieces = 0, 0, []
    for name, type_ in fields.items():
        if type_ == "string" or "<" in type_:
            form = "DataPieceString"
            if "<" in type_:
                outer, inner = type_.rstrip(">").split("<")
                form = f"DataPiece{'Vector' if outer == 'vector' else 'StringMap'}<{inner}>"
            pieces.append({"name": name, "type": form, "index": number})
            number += 1
            continue
        base, _, count = type_.rstrip("]").partition("[")
        piece = {"name": name, "type": f"DataPiece{'Array' if count else 'Value'}<{base}>", "offset": offset}
        if count:
            piece["size"] = int(count)
        pieces.append(piece)
        offset += np.dtype(_NUMBERS[base]).itemsize * _WIDTHS.get(base, 1) * int(count or 1)
    return json.dumps({"data_layout": pieces})


def _block(fields: Fields, values: Mapping[str, object]) -> bytes:
    fixed, variable = b"", []
    for name, type_ in fields.items():
        value = values[name]
        if type_ == "string":
            variable.append(str(value).encode())
        elif type_ == "vector<string>":
            texts = [_text(str(one)) for one in value]  # type: ignore[attr-defined]
            variable.append(struct.pack("<I", len(texts)) + b"".join(texts))
        elif type_ == "map<string>":
            pairs = value.items()  # type: ignore[attr-defined]
            variable.append(b"".join(_text(key) + _text(str(one)) for key, one in pairs))
        elif "<" in type_:
            inner = type_.rstrip(">").split("<")[1]
            variable.append(np.asarray(value, _NUMBERS[inner]).tobytes())
        else:
            fixed += np.asarray(value, _NUMBERS[type_.partition("[")[0]]).tobytes()
    places = np.cumsum([0, *(len(piece) for piece in variable)])[:-1]
    table = b"".join(struct.pack("<II", at, len(piece)) for at, piece in zip(places, variable, strict=True))
    return fixed + table + b"".join(variable)


def _texts(pairs: Mapping[str, str]) -> bytes:
    return struct.pack("<I", len(pairs)) + b"".join(_text(key) + _text(value) for key, value in pairs.items())


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text.encode())) + text.encode()
