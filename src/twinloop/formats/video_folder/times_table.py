"""Tables that say when each image was taken, in the layouts that recorders write.

Long: one row an image, a column naming the camera (``cam_id``, ``port``, ``camera``...), a time column, and
perhaps the image's number (caliscope). Wide: one column a camera, named like its file. Own: a table named
after one video (``cam0.csv``, ``cam0_timestamps.txt``), with or without a header (mkvmerge's timestamp
files are such). Shared: one row for all cameras, with one time column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import Where
from twinloop.core.kinds import TIME_COLUMNS, StampSource
from twinloop.core.recording import Problem
from twinloop.formats.time_column import (
    ISO,
    bare,
    best_time,
    declared_unit,
    likely_unit,
    source_of,
    to_ns,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes

_CAMERA = re.compile(
    r"^(cam|camera|port|view|device|sensor|stream|source|video)(_?(id|name|index|no|number))?$"
)
_NUMBER = re.compile(r"^(frame|image|img)(_?(id|index|idx|no|number|count))?$|^(index|idx|n)$")
_A_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_NAME = re.compile(r"time|stamp|frame|sync", re.IGNORECASE)
_SUFFIXES = frozenset({".csv", ".tsv", ".txt"})
#: Bytes of a table beyond which it is no table of image times (a day of four cameras at 60 Hz is 700 MB).
_MOST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class ImageTimes:
    """The times of one camera's images, row k of the table for its k-th image or image number `number[k]`.

    Attributes:
        stamp_ns: (N,) int64. number: (N,) int64 as in the table, None where it has no such column.
        others: more time columns (``log_ns``, ``seq``...), (N,) int64 each.
        file: the table. column, unit: where the times stood; unit_declared: whether the table said the unit.
    """

    stamp_ns: NDArray[np.int64]
    file: Path
    column: str
    unit: str
    unit_declared: bool
    source: StampSource = StampSource.DRIVER
    number: NDArray[np.int64] | None = None
    others: dict[str, NDArray[np.int64]] = field(default_factory=dict)


def find_times(
    folder: Path, videos: list[Path], rates: dict[Path, float | None], notes: Notes
) -> dict[Path, ImageTimes]:
    """The times of each video that some table in `folder` has; `rates` as the containers declare them."""
    tables = [p for p in sorted(folder.iterdir()) if p.suffix.lower() in _SUFFIXES and _may_be(p)]
    found: dict[Path, ImageTimes] = {}
    for video in videos:
        for path in tables:
            if _is_own(path, video) and video not in found:
                times = _own_times(path, rates[video], notes)
                if times is not None:
                    found[video] = times
    rest = [video for video in videos if video not in found]
    shared = [p for p in tables if _NAME.search(p.stem) and not any(_is_own(p, v) for v in videos)]
    for path in sorted(shared, key=lambda p: ("time" not in p.stem.lower(), p.name)):
        if not rest:
            break
        for video, times in _shared_times(path, rest, rates, notes).items():
            found[video] = times
            rest.remove(video)
    return found


def _may_be(path: Path) -> bool:
    try:
        return path.is_file() and 0 < path.stat().st_size < _MOST_BYTES
    except OSError:
        return False


def _is_own(table: Path, video: Path) -> bool:
    """Whether a table's name is a video's, give or take a word such as `timestamps`."""
    name, stem = table.stem.lower(), video.stem.lower()
    if name in (stem, video.name.lower()):
        return True
    rest = name.removeprefix(stem) if name.startswith(stem) else name.removesuffix(stem)
    return (
        rest != name
        and re.fullmatch(r"[_.\- ]*(frame)?_?(time|stamp|timestamp|pts|ts)s?[_.\- ]*", rest) is not None
    )


def _own_times(path: Path, rate_hz: float | None, notes: Notes) -> ImageTimes | None:
    table = _read(path, notes)
    if table is None:
        return None
    column = best_time(table.column_names) or _time_without_header(table)
    return None if column is None else _times(path, table, column, rate_hz, notes)


def _shared_times(
    path: Path, videos: list[Path], rates: dict[Path, float | None], notes: Notes
) -> dict[Path, ImageTimes]:
    """The videos' times in a table for several cameras."""
    table = _read(path, notes)
    if table is None:
        return {}
    rate_hz = next((rates[video] for video in videos if rates[video]), None)
    camera = next((name for name in table.column_names if _CAMERA.match(bare(name))), None)
    column = best_time(table.column_names)
    if camera is not None and column is not None:
        return _long_times(path, table, camera, column, videos, rate_hz, notes)
    wide = _match(videos, table.column_names)
    if wide:
        return {
            video: times
            for video, name in wide.items()
            if (times := _times(path, table.select([name]), name, rate_hz, notes)) is not None
        }
    times = None if column is None else _times(path, table, column, rate_hz, notes)
    return {} if times is None else dict.fromkeys(videos, times)


def _long_times(
    path: Path,
    table: pa.Table,
    camera: str,
    column: str,
    videos: list[Path],
    rate_hz: float | None,
    notes: Notes,
) -> dict[Path, ImageTimes]:
    import pyarrow.compute as pc

    ids = [str(value) for value in pc.unique(table.column(camera)).to_pylist() if value is not None]
    matched = _match(videos, ids)
    unmatched = sorted(set(ids) - set(matched.values()))
    if unmatched and len(videos) > 1:
        notes.add(
            Problem.MISSING_FILE,
            f"column {camera} names cameras without a video file here: {', '.join(unmatched)}",
            Where(file=str(path)),
        )
    found: dict[Path, ImageTimes] = {}
    for video, name in matched.items():
        mine = table.filter(pc.equal(pc.cast(table.column(camera), "string"), name))
        times = _times(path, mine, column, rate_hz, notes)
        if times is not None and len(times.stamp_ns) and _is_per_image(times):
            found[video] = times
    return found


def _is_per_image(times: ImageTimes) -> bool:
    """Whether a table has one row an image (a table of detections repeats an image's time)."""
    return times.number is None or len(np.unique(times.number)) == len(times.number)


def _match(videos: list[Path], names: Iterable[str]) -> dict[Path, str]:
    """Which name is which video's: the stem itself, or the number or word at its end (`0` for `cam_0.mp4`)."""
    matched: dict[Path, str] = {}
    for name in names:
        for fits in (
            lambda stem, word: stem == word,
            lambda stem, word: re.search(rf"(?<![0-9a-z]){re.escape(word)}$", stem) is not None,
            lambda stem, word: re.search(rf"(?<![0-9])0*{re.escape(word)}$", stem) is not None,
        ):
            mine = [v for v in videos if v not in matched and fits(v.stem.lower(), bare(name))]
            if len(mine) == 1:
                matched[mine[0]] = name
                break
    return matched


def _times(path: Path, table: pa.Table, column: str, rate_hz: float | None, notes: Notes) -> ImageTimes | None:
    """The times in `column`; rows without one are noted and left out. None: nothing in it is a time."""
    import pyarrow as pa

    values = table.column(column).combine_chunks()
    unit = declared_unit(column)
    declared = unit is not None
    if pa.types.is_timestamp(values.type):
        unit, declared = ISO, True
    elif unit is None:
        numbers = _numbers(values)
        unit = ISO if 2 * len(numbers) < len(values) - values.null_count else likely_unit(numbers, rate_hz)
    if unit is None:
        return None
    stamp_ns, valid = to_ns(values, unit)
    if not valid.any():
        return None
    if not declared and unit != ISO:
        notes.add(
            Problem.SCHEMA,
            f"column {column} does not say its unit; its numbers fit {unit}",
            Where(file=str(path)),
        )
    if not valid.all():
        notes.add(
            Problem.BAD_VALUE,
            f"{int((~valid).sum())} rows have no time in column {column}",
            Where(file=str(path), row=int(np.argmin(valid))),
            int((~valid).sum()),
        )
    number = next((name for name in table.column_names if _NUMBER.match(bare(name))), None)
    return ImageTimes(
        stamp_ns=stamp_ns[valid],
        file=path,
        column=column,
        unit=unit,
        unit_declared=declared,
        source=source_of(column),
        number=None if number is None else _whole(table, number, valid),
        others={
            name: whole
            for name in TIME_COLUMNS[1:]
            if name in table.column_names
            and name != column
            and (whole := _whole(table, name, valid)) is not None
        },
    )


def _whole(table: pa.Table, name: str, rows: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """A column of whole numbers at some rows; None where one of them is none."""
    numbers, valid = to_ns(table.column(name).combine_chunks(), "ns")
    return numbers[rows] if valid[rows].all() else None


def _numbers(values: pa.Array) -> NDArray[np.float64]:
    """The numbers among some texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(values)
    numbers = texts.filter(pc.fill_null(pc.match_substring_regex(texts, _A_NUMBER), False))
    return np.asarray(pc.cast(numbers, pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def _time_without_header(table: pa.Table) -> str | None:
    """The column of times in a table without a header: the only one, or the one after a count of rows."""
    names = table.column_names
    if len(names) == 1:
        return names[0]
    count = _numbers(table.column(0).combine_chunks())
    counts = len(count) == table.num_rows and bool((np.diff(count) == 1).all())
    return names[1] if len(names) == 2 and counts else None


def _read(path: Path, notes: Notes) -> pa.Table | None:
    """The table as text columns; comment lines are passed over. None: it is no table."""
    import pyarrow as pa
    import pyarrow.csv as csv

    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    comments = 0
    while comments < len(lines) and (not lines[comments].strip() or lines[comments].lstrip().startswith(b"#")):
        comments += 1
    header = lines[comments - 1].lstrip(b"# ") if comments else b""
    body = lines[comments:]
    if not body:
        return None
    delimiter = max(",;\t", key=lambda mark: body[0].count(mark.encode()))
    first = body[0].decode("utf-8", "replace").split(delimiter)
    named = not all(_is_number(cell) for cell in first)
    names: list[str] | None = None
    if not named:
        above = header.decode("utf-8", "replace").split(delimiter)
        names = (
            above
            if len(above) == len(first) and best_time(above)
            else [f"column {i}" for i in range(len(first))]
        )
    bad: list[int] = []

    def skip(row: csv.InvalidRow) -> str:
        bad.append(row.number or 0)
        return "skip"

    try:
        columns = _distinct(names or [cell.strip().strip('"') for cell in first])
        table = csv.read_csv(
            pa.BufferReader(_as_utf8(b"\n".join(body[1:] if named else body) + b"\n")),
            csv.ReadOptions(column_names=columns, use_threads=False),
            csv.ParseOptions(delimiter=delimiter, invalid_row_handler=skip),
            csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=True),
        )
    except (pa.ArrowException, ValueError) as error:
        notes.add(Problem.CORRUPT, f"the table does not parse: {error}", Where(file=str(path)), None)
        return None
    if bad:
        notes.add(
            Problem.BAD_VALUE,
            f"{len(bad)} rows have another number of columns than {len(columns)}",
            Where(file=str(path), row=bad[0] - 1),
            len(bad),
        )
    return table


def _as_utf8(data: bytes) -> bytes:
    """The same text, what is no UTF-8 replaced: it spoils a number, not its row."""
    return data.decode("utf-8", "replace").encode()


def _distinct(names: list[str]) -> list[str]:
    return [name if name not in names[:i] else f"{name} {i}" for i, name in enumerate(names)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
