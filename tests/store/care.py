"""A store that has something of everything, made once and copied for each test that damages it."""

from __future__ import annotations

import shutil
from pathlib import Path

from mcap.writer import Writer

from twinloop.core.session import SessionFacts
from twinloop.store.erase.erase import erase
from twinloop.store.erase.plan import plan_session
from twinloop.store.fsck import Harm, Trouble, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.mirror.mirror import mirror
from twinloop.store.queries import list_episodes
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.robot_tracks import CameraSpec
from twinloop.testing.synthetic import SessionSpec, record_session

CAMERA = CameraSpec("scene", 10.0, width=48, height=32)
ANA = IngestOptions(facts=SessionFacts(task="pick", operator="ana"))
BEN = IngestOptions(facts=SessionFacts(task="pick", operator="ben"))


def record_takes(folder: Path) -> None:
    """``arm.mcap`` (two episodes, a camera), ``opaque.mcap`` (a pack), ``gone.mcap``, ``bad.mcap``."""
    folder.mkdir()
    arm = SessionSpec(seed=3, duration_s=6.0, episodes=2, follower_hz=50.0, leader_hz=25.0, cameras=(CAMERA,))
    record_session(folder / "arm.mcap", arm)
    gone = SessionSpec(seed=5, duration_s=2.0, follower_hz=20.0, leader_hz=0.0, cameras=())
    record_session(folder / "gone.mcap", gone)
    with (folder / "opaque.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start()
        channel = writer.register_channel("/opaque", "own-encoding", 0)
        for number in range(50):
            stamp = 1_767_607_200_000_000_000 + number * 20_000_000
            writer.add_message(channel, stamp, bytes([number] * 300), stamp)
        writer.finish()
    (folder / "bad.mcap").write_bytes(b"nothing" * 30)


def fill(store: Store, takes: Path) -> None:
    """Take in, say something, quarantine something, erase something."""
    assert ingest(store, takes / "arm.mcap", ANA).status is Status.STORED
    assert ingest(store, takes / "opaque.mcap", BEN).status is Status.STORED
    assert ingest(store, takes / "bad.mcap").status is Status.QUARANTINED
    episodes = [row.id for row in list_episodes(store.catalog) if row.operator == "ana"]
    store.edit_episodes(episodes[:1], exclude="ana slipped")
    store.edit_episodes(episodes[1:], instruction="ana lifts it")
    store.registry.state("robots", "arm", {"serial": "1"})
    store.registry.state("robots", "arm", {"serial": "2"})
    gone = ingest(store, takes / "gone.mcap").session
    assert gone
    erase(store, plan_session(store, gone, "asked for").order)
    store.catalog.sync()


def copy_of(store: Path, place: Path) -> Store:
    """A copy of a store, as nobody's mirror."""
    shutil.copytree(store, place)
    return Store.open(place)


def mirror_of(store: Store, place: Path) -> Store:
    """A mirror of a store."""
    copy = Store.create(place)
    mirror(store, copy)
    return copy


def troubles(store: Store) -> list[Trouble]:
    """What fsck finds in the store as another process sees it."""
    return list(check_store(Store.open(store.url)))


def harms(store: Store) -> dict[str, Harm]:
    """What fsck finds, by key."""
    return {trouble.key: trouble.harm for trouble in troubles(store)}


def facts(store: Store) -> list[object]:
    """What people see of a store's episodes."""
    return list(list_episodes(Store.open(store.url).catalog))
