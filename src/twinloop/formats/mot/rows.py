"""The three texts of boxes: whether a file is one, and its rows."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import msgspec
import numpy as np

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem
from twinloop.formats.table.dialect import is_text
from twinloop.formats.table.spaced import SpacedSource, first_rows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from twinloop.formats.notes import Notes

_MOT = ("frame", "track", "left", "top", "width", "height", "score", "x", "y", "z")
_MOT_TRUTH = (*_MOT[:7], "class", "visibility")
_VATIC = re.compile(rb'^\d+( -?\d+){4} \d+ [01] [01] [01] "[^"\n]*"( "[^"\n]*")*\s*$')
_DETRAC = re.compile(rb"\s*(<\?xml[^>]*\?>\s*)?<sequence[\s>]")
_MOST_BYTES = 256 << 20


@dataclass
class Rows:
    """Boxes (N): `frame` int64, `track` words, `box` (N, 4) px; the rest where the source has it."""

    form: str
    frame: NDArray[np.int64]
    track: list[str | None]
    box: NDArray[np.float64]
    category: list[str]
    score: NDArray[np.float64] | None = None
    data: list[str] | None = None
    facts: dict[str, str] = field(default_factory=dict)


def form_of(head: bytes) -> str | None:
    """``mot``, ``detrac`` or ``vatic``; None where a file that starts with `head` is none of them."""
    if not is_text(head):
        return None
    if _DETRAC.match(head):
        return "detrac" if b"<target" in head and b"<box" in head else None
    line = head.split(b"\n", 1)[0].strip()
    if _VATIC.match(line):
        return "vatic"
    return "mot" if line.count(b",") in (8, 9) and _are_mot(head) else None


def read_rows(path: Path, form: str, notes: Notes) -> Rows:
    """All boxes of a file.

    Raises:
        UnreadableError: it is too large, or does not parse.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise UnreadableError("the file of boxes is too large", where=str(path), expected="at most 256 MB")
    return {"mot": _mot, "detrac": _detrac, "vatic": _vatic}[form](path, notes)


def _are_mot(head: bytes) -> bool:
    rows = first_rows(head)
    if not rows or len({len(row) for row in rows}) != 1:
        return False
    values = np.array(rows)
    if not np.isfinite(values).all() or (values[:, :2] % 1).any():
        return False
    boxes = (values[:, 0] >= 0).all() and (values[:, 1] >= -1).all() and (values[:, 4:6] > 0).all()
    if values.shape[1] == len(_MOT):
        return bool(boxes and (values[:, 7:] == -1).all())
    flags, classes, visible = values[:, 6], values[:, 7], values[:, 8]
    known = np.isin(flags, (0, 1)) & (classes >= 1) & (classes <= 13) & (classes % 1 == 0)
    return bool(boxes and known.all() and ((visible >= 0) & (visible <= 1)).all())


def _mot(path: Path, notes: Notes) -> Rows:
    with path.open("rb") as file:
        width = file.readline(4096).count(b",") + 1
    names = _MOT if width == len(_MOT) else _MOT_TRUTH
    runs = [
        np.stack(
            [np.asarray(rows.column(name).to_numpy(zero_copy_only=False), np.float64) for name in names], axis=1
        )
        for rows, _ in SpacedSource(path, names, notes).batches(set(names), [])
    ]
    values = np.concatenate(runs) if runs else np.empty((0, len(names)))
    whole = np.isfinite(values[:, :6]).all(axis=1) & (np.abs(values[:, :2]) < 2**53).all(axis=1)
    if not whole.all():
        lost = int((~whole).sum())
        where = Where(file=str(path), row=int(np.argmin(whole)))
        notes.add(Problem.BAD_VALUE, f"{lost} rows have no frame, track or box", where, lost)
        values = values[whole]
    corner, size = values[:, 2:4], values[:, 4:6]
    truth = names is _MOT_TRUTH
    score = np.where(values[:, 6] == -1, np.nan, values[:, 6])
    return Rows(
        "MOT Challenge",
        values[:, 0].astype(np.int64),
        [None if track < 0 else str(int(track)) for track in values[:, 1].tolist()],
        np.concatenate([corner, corner + size], axis=1),
        [f"{kind:.0f}" for kind in values[:, 7].tolist()] if truth else [""] * len(values),
        None if np.isnan(score).all() else score,
        [f'{{"visibility":{seen:g}}}' if np.isfinite(seen) else "{}" for seen in values[:, 8].tolist()]
        if truth
        else None,
    )


def _detrac(path: Path, notes: Notes) -> Rows:
    frames, tracks, boxes, categories, data = [], [], [], [], []
    facts: dict[str, str] = {}
    frame, wrong = 0, 0
    try:
        for event, element in ElementTree.iterparse(path, events=("start", "end")):
            if event == "start":
                if element.tag == "frame":
                    frame = int(element.get("num", "0")[:18])
                elif element.tag in ("sequence", "sequence_attribute"):
                    facts |= dict(element.attrib)
                continue
            if element.tag == "target":
                box, said = element.find("box"), element.find("attribute")
                place = (
                    [float(box.get(side, "nan")) for side in ("left", "top", "width", "height")]
                    if box is not None
                    else []
                )
                if len(place) != 4 or not np.isfinite(place).all():
                    wrong += 1
                    continue
                attributes = dict(said.attrib) if said is not None else {}
                frames.append(frame)
                tracks.append(element.get("id"))
                boxes.append([place[0], place[1], place[0] + place[2], place[1] + place[3]])
                categories.append(attributes.pop("vehicle_type", ""))
                data.append(msgspec.json.encode(attributes).decode())
            elif element.tag == "frame":
                element.clear()
    except (ElementTree.ParseError, ValueError) as error:
        notes.add(Problem.TRUNCATED, f"the XML does not parse to its end: {error}", Where(file=str(path)), None)
    if wrong:
        notes.add(Problem.BAD_VALUE, f"{wrong} targets have no box", Where(file=str(path)), wrong)
    return Rows(
        "UA-DETRAC",
        np.array(frames, np.int64),
        tracks,
        np.array(boxes, np.float64).reshape(-1, 4),
        categories,
        data=data,
        facts=facts,
    )


def _vatic(path: Path, notes: Notes) -> Rows:
    frames, tracks, boxes, categories, data = [], [], [], [], []
    wrong = 0
    for line in path.read_bytes().splitlines():
        if not line.strip():
            continue
        if not _VATIC.match(line):
            wrong += 1
            continue
        words = shlex.split(line.decode("utf-8", "replace"))
        numbers = [int(word[:18]) for word in words[:9]]
        frames.append(numbers[5])
        tracks.append(words[0])
        boxes.append(numbers[1:5])
        categories.append(words[9])
        said = dict(zip(("lost", "occluded", "generated"), map(bool, numbers[6:9]), strict=True))
        data.append(msgspec.json.encode(said | {"attributes": words[10:]}).decode())
    if wrong:
        notes.add(Problem.BAD_VALUE, f"{wrong} lines are no boxes", Where(file=str(path)), wrong)
    return Rows(
        "VATIC",
        np.array(frames, np.int64),
        list(tracks),
        np.array(boxes, np.float64).reshape(-1, 4),
        categories,
        data=data,
    )
