"""Every command that the documentation shows works as it stands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinloop.cli.main import app
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

ROOT = Path(__file__).parents[2]


def commands(page: Path) -> list[str]:
    """The lines of the page's ```sh blocks."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    lines = [line.split(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def run(line: str, folder: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("TWINLOOP_STORE", None)
    done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_getting_started_from_top_to_bottom(tmp_path):
    lines = commands(ROOT / "docs" / "getting-started.md")
    assert len(lines) > 15
    for line in lines:
        run(line, tmp_path)


def test_unattended_from_top_to_bottom(tmp_path):
    (tmp_path / "demo" / "recordings").mkdir(parents=True)
    for number in (1, 2):
        spec = SessionSpec(seed=number, duration_s=3.0, cameras=())
        record_session(tmp_path / "demo" / "recordings" / f"session-{number}.mcap", spec)
    for line in commands(ROOT / "docs" / "unattended.md"):
        run(line, tmp_path)
    assert list((tmp_path / "spool").glob("*.mcap")) == []


def test_export_from_top_to_bottom(tmp_path, monkeypatch):
    camera = CameraSpec("scene", 10.0, 64, 48)
    record_session(tmp_path / "a.mcap", SessionSpec(duration_s=4.0, episodes=2, cameras=(camera,)))
    monkeypatch.chdir(tmp_path)
    prepared = ["twinloop init demo/store", "twinloop ingest --store demo/store a.mcap"]
    for line in [*prepared, *commands(ROOT / "docs" / "export.md")]:
        done = CliRunner().invoke(app, shlex.split(line)[1:])  # one process: starting a dozen takes long
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
    assert len(list((tmp_path / "out").iterdir())) == 10  # two of them folders beside single files


def test_readme_shows_commands_that_are_there(tmp_path):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in commands(ROOT / "README.md"):
        words = line.split()
        if words[0] == "make":
            assert words[1] in targets
        else:
            run(f"twinloop {words[1]} --help", tmp_path)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("**/*.md")), ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_links_of_the_readme_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / page).read_text()):
            assert (ROOT / target).exists(), f"{page} links to {target}"


def test_every_verb_is_in_the_help_and_ends_with_a_next_step():
    from twinloop.cli.main import VERBS

    shown = subprocess.run(
        [Path(sys.executable).with_name("twinloop"), "--help"], capture_output=True, text=True, check=True
    ).stdout
    for verb in VERBS:
        assert f" {verb} " in shown
        module = ROOT / "src/twinloop/cli" / verb
        pages = sorted(module.glob("*.py")) if module.is_dir() else [module.with_suffix(".py")]
        source = "".join(page.read_text() for page in pages)
        assert "say_next(" in source or "next: " in source
