"""What it costs to begin: `twinloop --help`, and the download of the base install.

    python -m benchmarks.startup [--quick]

`--quick` leaves the download out (it needs the package index and a few minutes).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from benchmarks.harness import Target, arguments, command, finish

ROOT = Path(__file__).parent.parent
TARGETS = {"help_cpu_s": Target(most=0.5), "base_download_mb": Target(most=175)}


def help_cpu_s(repeats: int = 7) -> float:
    """Median CPU seconds of `twinloop --help` with bytecode compiled, as set-up leaves it."""
    twinloop = [str(Path(sys.executable).with_name("twinloop")), "--help"]
    command(twinloop)
    return statistics.median(command(twinloop).cpu_s for _ in range(repeats))


def base_download_mb() -> float:
    """Megabytes (10^6 bytes) of wheels that `pip install twinloop` takes for this Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder]
        subprocess.run([*pip, *project["dependencies"]], check=True, stderr=subprocess.DEVNULL)
        return sum(wheel.stat().st_size for wheel in Path(folder).iterdir()) / 1e6


if __name__ == "__main__":
    options = arguments(__doc__ or "")
    figures = {"help_cpu_s": help_cpu_s()}
    if not options.quick:
        figures["base_download_mb"] = base_download_mb()
    finish("startup", figures, TARGETS)
