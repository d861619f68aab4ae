"""What of a session survived a path: each answer is measured against what was recorded."""

from __future__ import annotations

import io
import json
from pathlib import Path

import av
import numpy as np
from journey import NUMBERS, Truth, Workshop
from numpy.typing import NDArray
from reading import Beside, Held, beside_hidden, read_back

from twinloop.formats.video.pixels import to_pixels

COLUMNS = ("values", "capture times", "images", "calibration", "instruction", "outcome", "units", "consent")

BESIDE = "beside"
LOST = "lost"
#: Seconds of this century in 64-bit floats.
_MICROSECOND_NS = 1_000
#: Mean difference, of 255, up to which an image encoded anew is the same one.
_SAME_IMAGE = 12


def survived(workshop: Workshop, into: str, out: str) -> dict[str, str]:
    """Column -> what survived of it from the recording, in by one format and out by another."""
    truth = workshop.truth
    path = workshop.write(into, out)
    beside = Beside.of(path)
    with beside_hidden(path):
        held = read_back(path, out, truth)
    return {
        "values": _values(held, truth),
        "capture times": _times(held, beside, truth),
        "images": _images(held, truth),
        "calibration": _either(held.calibrated, beside is not None and _has_calibration(beside)),
        "instruction": _either(
            held.instructions == truth.instructions,
            beside is not None and [e["instruction"] for e in beside.episodes] == truth.instructions,
        ),
        "outcome": _either(
            set(held.outcomes) == {"success"},
            beside is not None and {e["outcome"] for e in beside.episodes} == {"success"},
        ),
        "units": _either(held.units == {"rad"}, beside is not None and _units(beside) == {"rad"}),
        "consent": _either(
            held.consent, beside is not None and {e["consent"] for e in beside.episodes} == {"C-7"}
        ),
    }


def _either(inside: bool, beside: bool) -> str:
    return "kept" if inside else BESIDE if beside else LOST


def _values(held: Held, truth: Truth) -> str:
    for word, dtype in (("64 bits", np.float64), ("32 bits", np.float32)):
        if all(
            np.array_equal(held.matrix(name).astype(dtype), truth.numbers[name].astype(dtype))
            for name in NUMBERS
        ):
            return word
    return LOST


def _times(held: Held, beside: Beside | None, truth: Truth) -> str:
    if held.times_ns is not None and len(held.times_ns) == len(truth.times_ns):
        off = np.abs(np.array(held.times_ns) - truth.times_ns).max()
        if off == 0:
            return "kept"
        if off < _MICROSECOND_NS:
            return "to 1 µs"
    if beside is not None and len(beside.times_ns) == len(truth.times_ns):
        off = np.abs(np.array(beside.times_ns) - truth.times_ns).max()
        if off < _MICROSECOND_NS:
            return f"{BESIDE}, to 1 µs" if off else BESIDE
    return LOST


def _images(held: Held, truth: Truth) -> str:
    if all(isinstance(image, bytes) for image in held.images) and held.images == truth.jpegs:
        return "own bytes"
    if len(held.images) != len(truth.jpegs):
        return LOST
    off = np.array(
        [
            np.abs(_pixels(image).astype(int) - _pixels(jpeg)).mean()
            for image, jpeg in zip(held.images, truth.jpegs, strict=True)
        ]
    )
    if (off == 0).all():
        return "every pixel"
    return "encoded anew" if off.max() < _SAME_IMAGE else LOST


def _pixels(image: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    if isinstance(image, np.ndarray):
        return image
    with av.open(io.BytesIO(image)) as file:
        return to_pixels(next(file.decode(video=0)))


def _has_calibration(beside: Beside) -> bool:
    return any(
        session["camera_info"] or session["calibration"] for session in beside.facts["sessions"].values()
    )


def _units(beside: Beside) -> set[str]:
    return {beside.facts["features"][name]["unit"] for name in NUMBERS}


def load(path: Path) -> dict[str, dict[str, dict[str, str]]]:
    """in-format -> out-format -> column -> what survived, as measured last."""
    return json.loads(path.read_text())
