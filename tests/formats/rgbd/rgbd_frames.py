"""A few frames of an RGB-D camera."""

from __future__ import annotations

from pathlib import Path

from scenes import deep_png, png

FIRST, FRAMES = 150, 5


def write_frames(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for k in range(FIRST, FIRST + FRAMES):
        (folder / f"frame-{k:06}.color.png").write_bytes(png(k))
        (folder / f"frame-{k:06}.depth.png").write_bytes(deep_png(k))
        rows = [f"1.0e+000 0 0 {k}.5", "0 1 0 0", "0 0 1 0", "0 0 0 1"]
        (folder / f"frame-{k:06}.pose.txt").write_text("\n".join(rows) + "\n")
    (folder / "camera-intrinsics.txt").write_text("585 0 320\n0 586 240\n0 0 1\n")
    return folder
