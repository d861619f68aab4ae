"""Two machines, each with a name and a cache of its own, take in to one bucket; one dies in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from twinloop.store.fsck import Harm, check_store
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_sessions
from twinloop.store.store import Store
from twinloop.testing.faulty_proxy import Fault, FaultyProxy
from twinloop.testing.synthetic import SessionSpec, record_session

TAKE_IN = """
import socket, sys
from pathlib import Path
socket.gethostname = lambda: sys.argv[1]
from twinloop.store.ingest import ingest
from twinloop.store.store import Store
store = Store.open(sys.argv[2])
for path in sys.argv[3:]:
    outcome = ingest(store, Path(path))
    assert outcome.status.value in ("stored", "present"), outcome
    (episode,) = store.session(outcome.session).session.episodes
    store.edit_episodes([episode.id], instruction=f"seen by {sys.argv[1]}")
"""


@pytest.fixture(scope="module")
def drops(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three recordings."""
    folder = tmp_path_factory.mktemp("drops")
    for seed in range(3):
        spec = SessionSpec(seed=seed, duration_s=1.5, follower_hz=50.0, leader_hz=0.0, cameras=())
        record_session(folder / f"{seed}.mcap", spec)
    return sorted(folder.iterdir())


def start(host: str, url: str, paths: list[Path], cache: Path, endpoint: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TWINLOOP_CACHE": str(cache / host), "AWS_ENDPOINT_URL": endpoint}
    return subprocess.Popen([sys.executable, "-c", TAKE_IN, host, url, *map(str, paths)], env=environment)


def test_one_of_two_hosts_dies_in_the_middle(bucket, s3_server, drops, tmp_path):
    """Both take in the same recording and one of their own at once; `b` dies at its first manifest."""
    url = Store.create(f"{bucket}/store").url
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    with FaultyProxy(*s3_server) as proxy:
        dying = start("b", url, [drops[0], drops[2]], tmp_path, proxy.url)

        def choose(request) -> Fault | None:
            if request.method != "PUT" or "/manifest-" not in request.target:
                return None
            dying.kill()
            dying.wait()
            return Fault(lose_answer_at=0)  # the request had left

        proxy.choose = choose
        living = start("a", url, [drops[0], drops[1]], tmp_path, endpoint)
        assert living.wait() == 0
        assert dying.wait() != 0
    store = Store.open(url)
    assert {trouble.harm for trouble in check_store(store)} <= {Harm.LEFTOVER}
    assert start("b", url, [drops[0], drops[2]], tmp_path, endpoint).wait() == 0
    store = Store.open(url)
    rows = list_sessions(store.catalog)
    hashes = [entry.hash for row in rows for entry in store.session(row.id).manifest.recordings]
    assert len(hashes) == len(set(hashes)) == 3
    assert {trouble.harm for trouble in check_store(store)} <= {Harm.LEFTOVER}
    assert {name.partition("/")[2].partition("/")[0] for name in store.journal.files()} == {"a", "b"}
    last = {entry.target: entry.data["instruction"] for entry in store.journal.entries()}
    assert sorted(last.values()) == ["seen by a", "seen by b", "seen by b"]
    for path in drops:
        assert ingest(store, path).status is Status.PRESENT
