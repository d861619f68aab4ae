"""`twinloop demo`: what a newcomer sees first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from twinloop.cli.main import app
from twinloop.core.errors import UsageError
from twinloop.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def test_the_demo_finds_the_planted_fault_and_leaves_all_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    result = CliRunner().invoke(app, ["demo", str(folder)])
    assert result.exit_code == 0, result.exception
    said = result.stdout
    assert "planted: session-2.mcap: 18 images of /wrist/image/compressed are missing" in said
    found = said[said.index("found:") :].splitlines()
    assert sum("nothing wrong" in line for line in found) == 2
    assert sum("TIM004 gap: /wrist/image/compressed" in line for line in found) == 1
    assert "18 samples missing" in said
    assert f"next: open {folder}/report-2.html" in said
    for number in (1, 2, 3):
        assert (folder / f"recordings/session-{number}.mcap").is_file()
        page = (folder / f"report-{number}.html").read_text()
        assert ("TIM004" in page) == (number == 2)
    info = json.loads((folder / "dataset/meta/info.json").read_text())
    assert (info["codebase_version"], info["total_episodes"]) == ("v3.0", 6)
    with Store.open(folder / "store").catalog.reading():
        pass


def test_the_demo_touches_no_folder_of_others(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds something else"):
        raise CliRunner().invoke(app, ["demo", str(tmp_path)]).exception  # type: ignore[misc]
    assert (tmp_path / "mine.txt").read_text() == "mine"
