"""Commands that write, each with what must hold after a kill and after it was run again."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import numpy as np

from twinloop.formats.reader import open_recording
from twinloop.store.fsck.check import check_store
from twinloop.store.fsck.trouble import Harm
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

CAMERA = CameraSpec("scene", 10.0, width=64, height=48)


def record(path: Path, seed: int) -> Path:
    """A small recording with a camera."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record_session(path, SessionSpec(seed=seed, duration_s=2.0, cameras=(CAMERA,)))
    return path


def whole(store: Store, sessions: int | None = None) -> None:
    """Nothing of a store is damaged; with `sessions`, it holds so many, each readable to the end."""
    assert [t for t in check_store(store) if t.harm is not Harm.LEFTOVER] == []
    rows = list_sessions(store.catalog)
    for row in rows:
        with store.session(row.id) as session:
            for _ in session.scan():
                pass
    if sessions is not None:
        assert len(rows) == sessions


class Scenario(ABC):
    """`sound`: a folder with what the command needs, made once. A run has a copy of it."""

    name: str

    def __init__(self, sound: Path, catalog: Callable[[], str] | None = None) -> None:
        self.sound = sound
        self.catalog = catalog
        sound.mkdir(parents=True)
        self.make(sound)

    def fresh(self, folder: Path) -> None:
        """A new copy of the sound folder."""
        shutil.copytree(self.sound, folder)
        if self.catalog:
            for settings in folder.rglob("store.toml"):
                settings.write_text(settings.read_text() + f'\ncatalog = "{self.catalog()}"\n')

    @abstractmethod
    def make(self, sound: Path) -> None:
        """Fill the sound folder."""

    @abstractmethod
    def command(self, folder: Path) -> list[str]:
        """The arguments of `twinloop`."""

    def act(self, folder: Path) -> int:
        """The command within this process; its exit code."""
        from typer.main import get_command

        from twinloop.cli.main import app

        try:
            return int(get_command(app).main(self.command(folder), standalone_mode=False) or 0)
        except SystemExit as ended:
            return int(ended.code or 0)

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
        from twinloop.store.ingest import ingest

        store = Store.open(folder / "store")
        return max(ingest(store, path).exit_code for path in sorted((folder / "in").iterdir()))

    def survived(self, folder: Path) -> None:
        whole(Store.open(folder / "store"))

    def finished(self, folder: Path) -> None:
        whole(Store.open(folder / "store"), 1)


class Watch(Ingest):
    name = "watch"
    act = Scenario.act

    def make(self, sound: Path) -> None:
        for number in range(3):
            record(sound / "in" / f"take-{number}.mcap", number)
        (sound / "in" / "broken.mcap").write_bytes((sound / "in" / "take-0.mcap").read_bytes()[:3000])
        Store.create(sound / "store")

    def command(self, folder: Path) -> list[str]:
        return ["watch", str(folder / "in"), "--store", str(folder / "store"), "--once", "--settle", "0"]

    def finished(self, folder: Path) -> None:
        store = Store.open(folder / "store")
        whole(store)
        kept = {row.id for row in list_sessions(store.catalog)}
        hashes = [r.hash for id in kept for r in store.session(id).manifest.recordings]
        assert len(hashes) == len(set(hashes))
        assert len({*hashes, *(reason.hash for reason in store.quarantine.all())}) == 4


class Push(Scenario):
    name = "push"

    def make(self, sound: Path) -> None:
        for number in range(3):
            record(sound / "spool" / f"take-{number}.mcap", number)
        shutil.copytree(sound / "spool", sound / "originals")
        Store.create(sound / "store")

    def command(self, folder: Path) -> list[str]:
        return ["push", str(folder / "spool"), str(folder / "store"), "--take-in", "--settle", "0"]

    def survived(self, folder: Path) -> None:
        store = Store.open(folder / "store")
        whole(store)
        held = {
            r.hash for row in list_sessions(store.catalog) for r in store.session(row.id).manifest.recordings
        }
        from twinloop.store.blobs import hash_file

        for original in (folder / "originals").iterdir():
            if not (folder / "spool" / original.name).exists():
                assert hash_file(original) in held, "gone from the spool before the store had it"

    def finished(self, folder: Path) -> None:
        self.survived(folder)
        whole(Store.open(folder / "store"), 3)
        assert not list((folder / "spool").glob("*.mcap"))


class _OfStore(Scenario):
    """With a store of two sessions."""

    def make(self, sound: Path) -> None:
        from twinloop.store.ingest import ingest

        store = Store.create(sound / "store")
        for number in range(2):
            ingest(store, record(sound / "in" / f"take-{number}.mcap", number))


class Mirror(_OfStore):
    name = "mirror"

    def command(self, folder: Path) -> list[str]:
        return ["mirror", str(folder / "store"), str(folder / "copy")]

    def survived(self, folder: Path) -> None:
        whole(Store.open(folder / "store"), 2)
        if (folder / "copy" / "store.toml").exists():
            whole(Store.open(folder / "copy"))

    def finished(self, folder: Path) -> None:
        whole(Store.open(folder / "store"), 2)
        whole(Store.open(folder / "copy"), 2)


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
        whole(Store.open(folder / "store"), 2)


class Erase(_OfStore):
    name = "erase"

    def make(self, sound: Path) -> None:
        super().make(sound)
        store = Store.open(sound / "store")
        (sound / "victim").write_text(sorted(row.id for row in list_sessions(store.catalog))[0])

    def command(self, folder: Path) -> list[str]:
        victim = (folder / "victim").read_text()
        return ["erase", "--session", victim, "--reason", "asked", "--yes", "--store", str(folder / "store")]

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
        whole(store, 1)


class Export(_OfStore):
    """What is there after a kill is what a run to the end gives, or nothing."""

    def make(self, sound: Path) -> None:
        super().make(sound)

    def survived(self, folder: Path) -> None:
        whole(Store.open(folder / "store"), 2)
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
        whole(Store.open(folder / "store"), 2)
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
