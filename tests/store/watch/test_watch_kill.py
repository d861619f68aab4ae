"""Files dropped at random times all end in the store or in quarantine, once, however often the watch dies."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import sqlalchemy as sa
from drops import Dropper

from twinloop.store.catalog import tables
from twinloop.store.store import Store
from twinloop.store.watch.log import Said, all_entries

FILES, KILLS = 60, 3


def start(root, folder, *options: str) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).with_name("twinloop")), "watch", str(folder), "--store", str(root)]
    timing = ["--settle", "0.3s", "--interval", "0.1s", "--grace", "3s", "--workers", "2"]
    return subprocess.Popen([*command, *timing, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_every_file_once_through_kills(tmp_path, request):
    heavy = request.config.getoption("--heavy")
    files, kills, pause_s = (1000, 20, 0.1) if heavy else (FILES, KILLS, 0.03)
    (folder := tmp_path / "drop").mkdir()
    (workshop := tmp_path / "workshop").mkdir()
    root = Store.create(tmp_path / "store").work
    dropper = Dropper(folder, workshop)
    thread = threading.Thread(target=dropper.drop, args=(files, pause_s))
    thread.start()
    moments = random.Random(5)
    for number in range(kills):
        watch = start(root, folder)
        time.sleep(moments.uniform(0.5, 3.0))
        watch.send_signal(signal.SIGTERM if number % 3 == 1 else signal.SIGKILL)
        assert watch.wait() in (0, 3, -signal.SIGKILL, -signal.SIGTERM)
    thread.join()
    last = start(root, folder, "--once")
    _, errors = last.communicate(timeout=3600)
    assert last.returncode in (0, 3), errors.decode()
    judge(Store.open(root), dropper)


def judge(store: Store, dropper: Dropper) -> None:
    """Each content is a recording once, or in quarantine once."""
    with store.catalog.reading() as connection:
        held = Counter(row.hash for row in connection.execute(sa.select(tables.recordings.c.hash)))
    assert held == Counter(dropper.whole)
    kept = Counter(reason.hash for reason in store.quarantine.all())
    assert kept == Counter(dropper.broken)
    last = {(entry.target, entry.data["state"]): entry.kind for entry in all_entries(store.objects)}
    names = Counter(name for (name, _), kind in last.items() if kind in ("stored", "present", "quarantined"))
    there = {path.relative_to(dropper.folder).as_posix() for path in dropper.dropped}
    assert there <= names.keys()
    assert Said.GIVEN_UP not in last.values()
