"""`twinloop report`: the page of a recording."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinloop.cli.main import app
from twinloop.core.errors import UnreadableError, UsageError
from twinloop.testing.faults import DroppedSamples
from twinloop.testing.synthetic import WRIST, SessionSpec, record_session


@pytest.fixture(scope="module")
def take(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("takes") / "take.mcap"
    record_session(path, SessionSpec(seed=3, duration_s=6.0, faults=(DroppedSamples(WRIST, 2.0, 1.0),)))
    return path


def test_a_page_names_the_planted_fault(take: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    result = CliRunner().invoke(app, ["report", str(take), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert f"next: open {out}" in result.output
    page = out.read_text()
    top = page[: page.index("<h2>Timeline")]
    assert "gap" in top
    assert WRIST in top
    assert "missing" in top
    assert page.count("data:image/jpeg;base64,") > 12
    assert len(page) < 5_000_000


def test_what_cannot_be_is_said(take: Path, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        CliRunner().invoke(app, ["report", "nothing.bag"], catch_exceptions=False)
    with pytest.raises(UsageError, match="cannot be written"):
        CliRunner().invoke(
            app, ["report", str(take), "-o", str(tmp_path / "no/such/page.html")], catch_exceptions=False
        )
