"""`twinloop map`: proposes, writes, checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from twinloop.cli.main import app
from twinloop.core.errors import MappingError, UnreadableError, UsageError
from twinloop.core.mapping import load_mapping, parse_mapping
from twinloop.testing.synthetic import SessionSpec, record_session

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = SessionSpec(duration_s=6, episodes=2, cameras=(), tf_hz=10)
    return record_session(tmp_path_factory.mktemp("map") / "session.mcap", spec).path


def run(*words: object) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["map", *map(str, words)])
    if result.exception:
        raise result.exception
    assert result.exit_code == 0
    return result.stdout, result.stderr


def test_what_is_printed_is_a_mapping(session: Path) -> None:
    out, err = run(session)
    assert [f.name for f in parse_mapping(out).features] == ["observation.state", "action", "task"]
    assert "#   /tf: transforms" in out
    assert "# why: " in out
    assert err == f"next: twinloop map {session} -o mapping.toml\n"


def test_a_written_mapping_fits_and_an_edited_one_is_checked(session: Path, tmp_path: Path) -> None:
    file = tmp_path / "mapping.toml"
    out, _ = run(session, "-o", file)
    assert "leads /follower/joint_states by 120 ms" in out
    assert f"next: edit {file}, then: twinloop map {session} --check {file}" in out
    out, _ = run(session, "--check", file)
    assert f"{file} fits {session}: 3 features, 2 episodes" in out
    assert f"next: twinloop ingest {session} --mapping {file}" in out
    edited = file.read_text().replace('"gripper"', '"griper"', 1)
    file.write_text(edited)
    with pytest.raises(MappingError, match=r"(?s)griper.*line [0-9]+.*did you mean gripper"):
        run(session, "--check", file)


def test_an_edited_mapping_is_not_overwritten(session: Path, tmp_path: Path) -> None:
    file = tmp_path / "mapping.toml"
    run(session, "-o", file)
    before = load_mapping(file)
    with pytest.raises(UsageError, match="the file exists"):
        run(session, "-o", file)
    assert load_mapping(file) == before


def test_what_cannot_be(session: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="either --check FILE or --out FILE"):
        run(session, "-o", tmp_path / "a.toml", "--check", tmp_path / "b.toml")
    with pytest.raises(UsageError, match="cannot be written"):
        run(session, "-o", tmp_path / "none" / "a.toml")
    with pytest.raises(UnreadableError):
        run(tmp_path / "none.mcap")
