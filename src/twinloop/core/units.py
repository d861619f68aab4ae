"""Units are strings in UCUM's spelling; what a source does not declare is `undeclared`, never guessed."""

from __future__ import annotations

UNDECLARED = "undeclared"

TO_SI: dict[str, tuple[str, float]] = {
    "rad": ("rad", 1.0),
    "deg": ("rad", 0.017453292519943295),
    "m": ("m", 1.0),
    "cm": ("m", 1e-2),
    "mm": ("m", 1e-3),
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "N": ("N", 1.0),
    "N.m": ("N.m", 1.0),
    "rad/s": ("rad/s", 1.0),
    "deg/s": ("rad/s", 0.017453292519943295),
    "m/s": ("m/s", 1.0),
    "m/s2": ("m/s2", 1.0),
    "g": ("m/s2", 9.80665),
    "T": ("T", 1.0),
    "mT": ("T", 1e-3),
    "uT": ("T", 1e-6),
    "Pa": ("Pa", 1.0),
    "hPa": ("Pa", 1e2),
    "kPa": ("Pa", 1e3),
    "Cel": ("Cel", 1.0),
    "1": ("1", 1.0),
    "%": ("1", 1e-2),
    UNDECLARED: (UNDECLARED, 1.0),
}
