"""Commands that write, each with what must hold after a kill and after it was run again."""

from __future__ import annotations

import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from twinloop.cli.main import main
from twinloop.core.ids import new_ulid
from twinloop.engine.progress import Report, no_report
from twinloop.engine.workers import Crash, attempt
from twinloop.formats.reader import open_recording
from twinloop.store.blobs import hash_file
from twinloop.store.fsck.check import check_store
from twinloop.store.fsck.trouble import Harm
from twinloop.store.ingest import ingest
from twinloop.store.outcome import Outcome
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store
from twinloop.store.watch import watch as watching
from twinloop.store.watch.diary import Diary
from twinloop.store.watch.jobs import Job, work
from twinloop.store.watch.sources import open_source
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

CAMERA = CameraSpec("scene", 5.0, width=48, height=32)


def record(path: Path, seed: int) -> Path:
    """A very small recording with a camera."""
    path.parent.mkdir(parents=True, exist_ok=True)
    spec = SessionSpec(seed=seed, duration_s=1.5, follower_hz=50.0, leader_hz=0.0, cameras=(CAMERA,))
    record_session(path, spec)
    return path


def whole(store: Store, sessions: int | None = None, *, quick: bool = False) -> None:
    """Nothing of a store is damaged; with `sessions`, it holds so many.

    Unless `quick`, every byte is hashed and every session read to its end.
    """
    assert [t for t in check_store(store, quick=quick) if t.harm is not Harm.LEFTOVER] == []
    rows = list_sessions(store.catalog)
    if sessions is not None:
        assert len(rows) == sessions
    for row in () if quick else rows:
        with store.session(row.id) as session:
            for _ in session.scan():
                pass


class Scenario(ABC):
    """`sound`: a folder with what the command needs, made once. A run has a copy of it.

    `catalog`: the URL of a database for all catalogs; default: SQLite beside the stores.
    """

    name: str
    #: Whether a look at a store leaves out what takes long.
    quick = False

    def __init__(self, sound: Path, catalog: str | None = None) -> None:
        self.sound = sound
        self.catalog = catalog
        sound.mkdir(parents=True)
        self.make(sound)

    def fresh(self, folder: Path) -> None:
        """A new copy of the sound folder. Its store has an id of its own, as catalogs may share a database."""
        shutil.copytree(self.sound, folder)
        if self.catalog:
            settings = f'format = 1\nid = "{new_ulid()}"\ncatalog = "{self.catalog}"\n'
            (folder / "store" / "store.toml").write_text(settings)

    def whole(self, store: Path, sessions: int | None = None) -> None:
        """The store there is whole, as far as a look goes that may be `quick`."""
        whole(Store.open(store), sessions, quick=self.quick)

    @abstractmethod
    def make(self, sound: Path) -> None:
        """Fill the sound folder."""

    @abstractmethod
    def command(self, folder: Path) -> list[str]:
        """The arguments of `twinloop`."""

    def act(self, folder: Path) -> int:
        """The command within this process; its exit code."""
        given = sys.argv
        sys.argv = ["twinloop", *self.command(folder)]
        try:
            main()
        except SystemExit as ended:
            return int(ended.code or 0)
        finally:
            sys.argv = given
        return 0

    @abstractmethod
    def survived(self, folder: Path) -> None:
        """What must hold after a kill."""

    @abstractmethod
    def finished(self, folder: Path) -> None:
        """What must hold after the command came to its end."""


class Ingest(Scenario):
    name = "ingest"

    def make(self, sound: Path) -> None:
        record(sound / "in" / "take.mcap", 1)
        Store.create(sound / "store")

    def command(self, folder: Path) -> list[str]:
        return ["ingest", "--store", str(folder / "store"), "--workers", "1", str(folder / "in")]

    def act(self, folder: Path) -> int:
        """Without the worker processes of the verb, which take longer to start than the work takes."""
        store = Store.open(folder / "store")
        return max(ingest(store, path).exit_code for path in sorted((folder / "in").iterdir()))

    def survived(self, folder: Path) -> None:
        self.whole(folder / "store")

    def finished(self, folder: Path) -> None:
        self.whole(folder / "store", 1)


class AtOnce:
    """In place of the worker processes of a watch: a job is done, in this process, when it is given."""

    free = 1

    def __init__(self, function: Callable[[Job, Report], Outcome]) -> None:
        self._function = function
        self._results: list[tuple[int, Outcome | Crash]] = []

    def give(self, number: int, job: Job) -> None:
        self._results.append((number, attempt(self._function, job, no_report)))

    def hear(self, timeout_s: float | None = None) -> list[tuple[int, Outcome | Crash]]:
        results, self._results = self._results, []
        return results

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Watch(Ingest):
    """Two recordings and a broken one."""

    name = "watch"

    def make(self, sound: Path) -> None:
        for number in range(2):
            record(sound / "in" / f"take-{number}.mcap", number)
        sound_bytes = (sound / "in" / "take-0.mcap").read_bytes()
        (sound / "in" / "broken.mcap").write_bytes(sound_bytes[:8] + bytes(200) + sound_bytes[-8:])
        Store.create(sound / "store")

    def act(self, folder: Path) -> int:
        """Without processes of its own."""
        store = Store.open(folder / "store")
        with ExitStack() as stack:
            source = open_source(str(folder / "in"), store, 0.0, 3600.0, stack)
            watch = watching.Watch(
                store, [source], watching.WatchOptions(once=True, interval_s=0.01), Diary(store)
            )
            watch._workers = AtOnce(partial(work, store.url))
            tally = watch.run()
        return 3 if tally.counts["quarantined"] or tally.failing or tally.offline else 0

    def command(self, folder: Path) -> list[str]:
        return ["watch", str(folder / "in"), "--store", str(folder / "store"), "--once", "--settle", "0"]

    def finished(self, folder: Path) -> None:
        store = Store.open(folder / "store")
        self.whole(folder / "store")
        kept = {row.id for row in list_sessions(store.catalog)}
        hashes = [r.hash for id in kept for r in store.session(id).manifest.recordings]
        assert len(hashes) == len(set(hashes))
        assert len({*hashes, *(reason.hash for reason in store.quarantine.all())}) == 3


class Push(Scenario):
    name = "push"

    def make(self, sound: Path) -> None:
        for number in range(2):
            record(sound / "spool" / f"take-{number}.mcap", number)
        shutil.copytree(sound / "spool", sound / "originals")
        Store.create(sound / "store")

    def command(self, folder: Path) -> list[str]:
        return ["push", str(folder / "spool"), str(folder / "store"), "--take-in", "--settle", "0"]

    def survived(self, folder: Path) -> None:
        store = Store.open(folder / "store")
        self.whole(folder / "store")
        held = {
            r.hash for row in list_sessions(store.catalog) for r in store.session(row.id).manifest.recordings
        }
        for original in (folder / "originals").iterdir():
            if not (folder / "spool" / original.name).exists():
                assert hash_file(original) in held, "gone from the spool before the store had it"

    def finished(self, folder: Path) -> None:
        self.survived(folder)
        self.whole(folder / "store", 2)
        assert not list((folder / "spool").glob("*.mcap"))


class _OfStore(Scenario):
    """With a store of two sessions."""

    def make(self, sound: Path) -> None:
        store = Store.create(sound / "store")
        for number in range(2):
            ingest(store, record(sound / "in" / f"take-{number}.mcap", number))


class Mirror(_OfStore):
    name = "mirror"

    def command(self, folder: Path) -> list[str]:
        return ["mirror", str(folder / "store"), str(folder / "copy")]

    def survived(self, folder: Path) -> None:
        self.whole(folder / "store", 2)
        if (folder / "copy" / "store.toml").exists():
            self.whole(folder / "copy")

    def finished(self, folder: Path) -> None:
        self.whole(folder / "store", 2)
        self.whole(folder / "copy", 2)


class Repair(_OfStore):
    name = "repair"

    def make(self, sound: Path) -> None:
        super().make(sound)
        store = Store.open(sound / "store")
        tables = sorted(store.work.glob("sessions/*/streams/*/*.parquet"))
        tables[0].unlink()
        damaged = bytearray(tables[-1].read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        tables[-1].write_bytes(damaged)

    def command(self, folder: Path) -> list[str]:
        return ["store", "fsck", "--repair", "--store", str(folder / "store")]

    def survived(self, folder: Path) -> None:
        store = Store.open(folder / "store")
        blobs = sorted(path.name for path in (folder / "store" / "blobs").rglob("*") if path.is_file())
        assert len(blobs) == 2
        assert len(list_sessions(store.catalog)) == 2

    def finished(self, folder: Path) -> None:
        self.whole(folder / "store", 2)


class Erase(_OfStore):
    name = "erase"

    def make(self, sound: Path) -> None:
        super().make(sound)
        store = Store.open(sound / "store")
        (sound / "victim").write_text(sorted(row.id for row in list_sessions(store.catalog))[0])

    def command(self, folder: Path) -> list[str]:
        victim = (folder / "victim").read_text()
        store = Store.open(folder / "store")
        if victim in {row.id for row in list_sessions(store.catalog)}:
            return ["erase", "--session", victim, "--reason", "asked", "--yes", "--store", store.url]
        return ["erase", "--resume", "--store", store.url]

    def survived(self, folder: Path) -> None:
        store = Store.open(folder / "store")
        other = {row.id for row in list_sessions(store.catalog)} - {(folder / "victim").read_text()}
        assert len(other) == 1
        with store.session(other.pop()) as session:
            for _ in session.scan():
                pass

    def finished(self, folder: Path) -> None:
        store = Store.open(folder / "store")
        assert (folder / "victim").read_text() not in {row.id for row in list_sessions(store.catalog)}
        self.whole(folder / "store", 1)


class Export(_OfStore):
    """What is there after a kill is what a run to the end gives, or nothing."""

    def survived(self, folder: Path) -> None:
        self.whole(folder / "store", 2)
        if (folder / "out").exists():
            self.finished(folder)


class ExportMcap(Export):
    name = "export mcap"

    def command(self, folder: Path) -> list[str]:
        return [
            "export",
            "mcap",
            "last",
            "--store",
            str(folder / "store"),
            "--out",
            str(folder / "out.mcap"),
            "--force",
        ]

    def survived(self, folder: Path) -> None:
        self.whole(folder / "store", 2)
        if (folder / "out.mcap").exists():
            self.finished(folder)

    def finished(self, folder: Path) -> None:
        with open_recording(folder / "out.mcap") as recording:
            counts = dict.fromkeys(recording.streams, 0)
            for batch in recording.scan():
                counts[batch.stream] += len(batch)
            assert counts == {name: stream.count for name, stream in recording.streams.items()}
            assert not recording.notes


class ExportLeRobot(Export):
    name = "export lerobot"

    def command(self, folder: Path) -> list[str]:
        return ["export", "lerobot", "--store", str(folder / "store"), "--out", str(folder / "out"), "--force"]

    def finished(self, folder: Path) -> None:
        with open_recording(folder / "out") as recording:
            rows = {name: recording.read(name).num_rows for name in recording.streams}
            assert np.max(list(rows.values())) > 0
            assert not recording.notes


#: Each with its share of the kills.
SCENARIOS: dict[type[Scenario], float] = {
    Ingest: 0.36,
    Watch: 0.06,
    Push: 0.16,
    Mirror: 0.16,
    Repair: 0.08,
    Erase: 0.08,
    ExportMcap: 0.06,
    ExportLeRobot: 0.04,
}
