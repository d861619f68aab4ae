"""How much the pictures of an episode change: a few, decoded small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.errors import TwinloopError
from twinloop.core.kinds import Kind

if TYPE_CHECKING:
    from twinloop.checks.subject import EpisodeSubject

_LOOKED_AT = 4


def picture_change(subject: EpisodeSubject) -> dict[str, float]:
    """Image stream -> largest mean difference of grey values (0 to 255) between its first and later pictures.

    Streams that do not decode are left out. Only video files are looked into: they are seekable.
    """
    changes = {}
    for stream in subject.streams.values():
        if stream.kind is not Kind.IMAGE or not stream.segments:
            continue
        try:
            greys = _greys(subject, stream.name)
        except TwinloopError:
            continue
        if len(greys) >= 2:
            changes[stream.name] = max(float(np.abs(grey - greys[0]).mean()) for grey in greys[1:])
    return changes


def _greys(subject: EpisodeSubject, name: str) -> list[np.ndarray]:
    from twinloop.formats.video.decode import decode_images

    stream = subject.streams[name]
    span = subject.span
    table = subject.table(
        name, ["segment", "pts"], span.start_ns if span else None, span.end_ns if span else None
    )
    if not table.num_rows:
        return []
    valid = np.flatnonzero(np.asarray(table.column("pts").is_valid()))
    chosen = valid[np.linspace(0, len(valid) - 1, _LOOKED_AT).astype(np.int64)] if len(valid) else valid
    segment = np.asarray(table.column("segment").fill_null(-1))[chosen]
    pts = np.asarray(table.column("pts").fill_null(0), np.int64)[chosen]
    greys = []
    for number in np.unique(segment):
        for _, image in decode_images(stream.segments[number], pts[segment == number]):
            greys.append(image.reshape(*image.shape[:2], -1).mean(axis=2, dtype=np.float64))
    return greys
