"""Any calibration file: which dialect it is, and what it holds."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

from twinloop.core.errors import UnreadableError
from twinloop.formats.calibrations import caliscope, kalibr, opencv, qualisys
from twinloop.formats.calibrations.values import MOST_BYTES

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from twinloop.formats.calibrations.values import Calibration

_DIALECTS: dict[str, ModuleType] = {
    "caliscope": caliscope,
    "Qualisys": qualisys,
    "Kalibr": kalibr,
    "OpenCV": opencv,
}


def dialect_of(head: bytes) -> str | None:
    """The dialect of a file that starts with `head`; None where it is no calibration."""
    return next((name for name, dialect in _DIALECTS.items() if dialect.claims(head)), None)


def read_calibration(path: Path) -> tuple[str, Calibration]:
    """The dialect and the contents of a calibration file.

    Raises:
        UnreadableError: it is of no known dialect, too large to be one, or does not parse.
    """
    from twinloop.formats.reader import read_head

    name = dialect_of(read_head(path))
    if name is None:
        raise UnreadableError(
            "it is no calibration", where=str(path), expected=f"one of {', '.join(_DIALECTS)}"
        )
    if path.stat().st_size > MOST_BYTES:
        raise UnreadableError(
            "it is too large for a calibration", where=str(path), expected=f"{MOST_BYTES} bytes"
        )
    try:
        found: Calibration = _DIALECTS[name].parse(path.read_bytes().decode("utf-8-sig"), path.stem)
    except UnreadableError as error:
        error.where = str(path)
        raise
    except (ParseError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableError(f"the {name} calibration does not parse: {said}", where=str(path)) from None
    if not found.items and not found.facts:
        said = f": {found.skipped[0]}" if found.skipped else ""
        raise UnreadableError(f"the {name} calibration holds nothing that can be read{said}", where=str(path))
    return name, found
