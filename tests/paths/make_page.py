"""Measures all paths and writes docs/formats.md: ``python tests/paths/make_page.py``.

``--page``: only the page, from the results that are there.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from journey import INTO, OUT, Workshop
from survival import COLUMNS, load, survived

RESULTS = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parents[2] / "docs/formats.md"

HEAD = """# What survives: in, store, out

Each row is a path: a session comes into a store as a file of the first format and leaves it as the second. It \
was recorded as MCAP (ROS 2) with JPEG images; the other formats are written from that recording first. What \
is left at the end is read back and held against the recording, row by row. This page is made from tests \
(`tests/paths`); a test fails when it no longer says what they find. `twinloop formats` lists all formats.

- **values**: state and action, bit by bit, or as 32-bit floats.
- **capture times**: of the rows, to the nanosecond (*kept*).
- **images**: the recording's *own bytes*, *every pixel* of them, or *encoded anew* with loss.
- *kept* stands where the format itself holds it; *beside*, in the folder `twinloop` of the export (or \
`FILE.twinloop`), which trainers do not look into; *lost*, where neither does. Our readers take over what \
stands beside a dataset as long as it has the episodes and rows that it was written with: keep both. What \
others wrote has no such folder: state what is missing when taking it in (`twinloop ingest --consent`...).

"""


def page(results: dict[str, dict[str, dict[str, str]]]) -> str:
    """The page that results make."""
    lines = [f"| in | out | {' | '.join(COLUMNS)} |", "|---|---|" + "---|" * len(COLUMNS)]
    for into, outs in results.items():
        for out, found in outs.items():
            lines.append(f"| {into} | {out} | {' | '.join(found[column] for column in COLUMNS)} |")
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    if "--page" not in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            workshop = Workshop(Path(folder))
            found = {into: {out: survived(workshop, into, out) for out in OUT} for into in INTO}
        RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(load(RESULTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
