"""A few windows of force and torque."""

from __future__ import annotations

from pathlib import Path

WINDOWS = 4
CLASSES = ("normal", "collision", "fr_collision", "obstruction")


def write_windows(path: Path) -> Path:
    lines = []
    for number, name in enumerate(CLASSES):
        lines.append(name)
        lines += [f"\t{number}\t{k}\t63\t-3\t-1\t0" for k in range(15)]
        lines += ["", ""]
    path.write_text("\n".join(lines))
    return path
