"""The commands of docs/care-of-a-store.md work in their order."""

from __future__ import annotations

from pathlib import Path

from test_commands import ROOT, commands, run


def test_care_of_a_store_from_top_to_bottom(tmp_path: Path) -> None:
    lines = commands(ROOT / "docs" / "care-of-a-store.md")
    assert len(lines) > 10
    for line in lines:
        run(line, tmp_path)
