"""The demo: three synthetic sessions recorded, taken in, checked, reported and exported."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.core.errors import UsageError
from twinloop.core.session import SessionFacts
from twinloop.testing.faults import DroppedSamples
from twinloop.testing.synthetic import WRIST, SessionSpec, record_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from twinloop.core.finding import CheckReport

_MARK = ".twinloop-demo"
_FAULTY = 2


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Where everything is. `reports` are (session, what the checks said), `planted` names the fault."""

    recordings: tuple[Path, ...]
    store: Path
    reports: tuple[tuple[str, CheckReport], ...]
    pages: tuple[Path, ...]
    dataset: Path
    planted: str


def run_demo(folder: Path, say: Callable[[str], None]) -> DemoResult:
    """Do all of it in `folder`; an earlier demo there is replaced. `say` is told each step.

    Raises:
        UsageError: the folder holds something that is no demo.
    """
    _clear(folder)
    say("recording three teleoperation sessions: an arm, its leader, two cameras")
    recordings, planted = _record(folder / "recordings")
    say("taking them into a store")
    store, sessions = _take_in(folder / "store", recordings)
    say("writing reports")
    pages = [_report(store, session, folder / f"report-{n}.html") for n, session in enumerate(sessions, 1)]
    say("exporting a LeRobot dataset")
    dataset = _export(store, folder / "dataset")
    return DemoResult(
        tuple(recordings),
        folder / "store",
        tuple((session, store.session(session).report) for session in sessions),
        tuple(pages),
        dataset,
        planted,
    )


def _clear(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / _MARK).exists())):
        raise UsageError("the folder holds something else", where=str(folder), expected="a new or empty folder")
    for own in ("recordings", "store", "dataset"):
        shutil.rmtree(folder / own, ignore_errors=True)
    (folder / "recordings").mkdir(parents=True)
    (folder / _MARK).touch()


def _record(folder: Path) -> tuple[list[Path], str]:
    planted = ""
    paths = []
    for number in (1, 2, 3):
        path = folder / f"session-{number}.mcap"
        faults = (DroppedSamples(WRIST, 1.8, 1.2),) if number == _FAULTY else ()
        truth = record_session(path, SessionSpec(seed=number, duration_s=9.0, episodes=2, faults=faults))
        for fault in truth.planted:
            planted = f"{path.name}: {fault.value:.0f} images of {fault.stream} are missing"
        paths.append(path)
    return paths, planted


def _take_in(root: Path, recordings: list[Path]) -> tuple[Store, list[str]]:
    from twinloop.store.ingest import ingest
    from twinloop.store.sources import IngestOptions
    from twinloop.store.store import Store

    store = Store.create(root)
    facts = SessionFacts(task="pick-cube", operator="demo", robot="little_arm")
    sessions = []
    for path in recordings:
        outcome = ingest(store, path, IngestOptions(facts=facts))
        if outcome.session is None:
            raise UsageError(f"{path.name} could not be taken in: {outcome.message}")
        sessions.append(outcome.session)
    return store, sessions


def _report(store: Store, session: str, page: Path) -> Path:
    from twinloop.checks.render.html import render_html

    with store.session(session) as stored:
        text = render_html(
            stored,
            stored.report,
            mapping=stored.mapping,
            episodes=stored.session.episodes,
            title=stored.manifest.recordings[0].name,
        )
    page.write_text(text, encoding="utf-8")
    return page


def _export(store: Store, out: Path) -> Path:
    from twinloop.deliver.lerobot.export import export_lerobot
    from twinloop.deliver.lerobot.options import ExportOptions
    from twinloop.deliver.rows import CameraClock
    from twinloop.deliver.stored import stored_sources

    export_lerobot(stored_sources(store), out, ExportOptions(clock=CameraClock("scene")))
    return out


if TYPE_CHECKING:
    from twinloop.store.store import Store
