"""The store: listings over a large catalog, two workers against one, requests to open a session.

    python -m benchmarks.store [--quick]

The catalog holds 100,000 episodes in 2,000 sessions, made as rows in SQLite; each filter of `twinloop ls` and
`twinloop episode ls` is asked as the verb asks it, and the figure is the median CPU time of the slowest one.
Two workers: the wall of `twinloop ingest` of equal recordings with one worker over that with two, in turn, the
median of the pairs; nothing else should run on the machine. Requests are counted between the store and an S3
server in this process.
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import REPEATS, Target, arguments, command, finish
from benchmarks.ingest import write_cameras
from benchmarks.store_requests import requests_per_session_open

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy.engine import Connection

SESSIONS = 2000
EPISODES = 50  # in each
TARGETS = {
    "ls_100k_ms": Target(most=200),
    "ingest_scaling_2_workers": Target(least=1.7),
    "s3_requests_per_session_open": Target(most=3),
}


class FilledCatalog:
    """A catalog of many rows and no store behind it."""

    def __init__(self, path: Path) -> None:
        from twinloop.store.catalog import tables
        from twinloop.store.catalog.database import Database

        self._database = Database(f"sqlite:///{path}")
        self._database.prepare()
        with self._database.writing() as connection:
            for table, rows in _rows().items():
                connection.execute(tables.TABLES.tables[table].insert(), rows)

    def reading(self) -> AbstractContextManager[Connection]:
        """As `Catalog.reading`."""
        return self._database.reading()


def _rows() -> dict[str, list[dict[str, object]]]:
    from twinloop.core.ids import new_ulid

    rng = random.Random(1)
    start_ns = 1_767_607_200_000_000_000
    rows: dict[str, list[dict[str, object]]] = {
        name: [] for name in ("sessions", "recordings", "streams", "episodes", "findings")
    }
    for number in range(SESSIONS):
        taken_ms = start_ns // 1_000_000 + number * 60_000
        session, hash = new_ulid(taken_ms), f"{rng.getrandbits(256):064x}"
        of = {"session": session, "recording": hash}
        who = {"task": f"task {number % 20}", "operator": f"operator {number % 13}"}
        where = {"site": f"site {number % 4}", "robot": f"robot {number % 7}", "meta": {}}
        taken = {"bytes": 10**8, "taken_at": "2026-01-05T10:00:00.000Z"}
        span = {"start_ns": start_ns, "end_ns": start_ns + 10**11}
        rows["sessions"].append(
            {"id": session, "revision": 1, "state": "live", **who, **where, **span, **taken}
        )
        file = {"name": f"take-{number}.mcap", "format": "mcap", "raw": "copy", "lost": False}
        rows["recordings"].append({"session": session, "hash": hash, "position": 0, **file, **taken})
        rows["streams"] += [
            {**of, "position": place, "name": f"/stream{place}", "kind": "joints", "count": 1000, **span}
            for place in range(10)
        ]
        rows["episodes"] += [
            {
                **of,
                **who,
                **span,
                "id": new_ulid(taken_ms),
                "number": place,
                "instruction": "Pick up the red cube and put it down in the other ring.",
                "outcome": rng.choice(["success", "failure", "unknown"]),
                "excluded": "blurred" if rng.random() < 0.05 else None,
            }
            for place in range(EPISODES)
        ]
        rows["findings"] += [
            {
                **of,
                "position": place,
                "code": "SYN003",
                "name": "action-lead",
                "severity": rng.choice(["error", "warning", "info"]),
                "message": "the action leads the state by 120 ms",
                "fingerprint": f"{rng.getrandbits(64):016x}",
            }
            for place in range(5)
        ]
    return rows


def listings(folder: Path, repeats: int) -> Iterator[tuple[str, float]]:
    """(what was asked, its median CPU ms) of each filter; a filter may find nothing, little or nearly all."""
    from twinloop.cli.options import TABLE_ROWS
    from twinloop.store.queries import each_episode, list_episodes, list_sessions

    catalog = FilledCatalog(folder / "catalog.sqlite")
    some = list_sessions(catalog, limit=1)[0].id
    of_sessions = [{}, *({name: f"{name} 1"} for name in ("task", "operator", "site", "robot")), {"task": "no"}]
    of_episodes = [
        *({}, {"session": some}, {"task": "task 1"}, {"task": "no"}, {"outcome": "success"}),
        *({"outcome": "no"}, {"excluded": True}, {"excluded": False}, {"task": "task 1", "outcome": "failure"}),
    ]
    for name, list_rows, filters in (
        ("ls", list_sessions, of_sessions),
        ("episode ls", list_episodes, of_episodes),
    ):
        for wanted in filters:
            ask = _asking(list_rows, catalog, limit=TABLE_ROWS, **wanted)
            yield f"{name} {wanted or 'all'}", _median_ms(ask, repeats)
    yield "episode ls --json", _median_ms(lambda: sum(1 for _ in each_episode(catalog)), repeats)


def _asking(list_rows: Callable[..., object], catalog: FilledCatalog, **wanted: object) -> Callable[[], object]:
    return lambda: list_rows(catalog, **wanted)


def _median_ms(ask: Callable[[], object], repeats: int) -> float:
    used = []
    for _ in range(repeats + 1):
        begin = time.process_time()
        ask()
        used.append((time.process_time() - begin) * 1e3)
    return statistics.median(used[1:])


def ingest_scaling(folder: Path, count: int, megabytes: float, pairs: int) -> float:
    """Wall of taking `count` equal recordings in with one worker over that with two; the median of pairs."""
    from twinloop.store.store import Store

    inputs = folder / "inputs"
    inputs.mkdir()
    for number in range(count):  # each of a content of its own, and within a percent of the size
        write_cameras(inputs / f"take-{number}.mcap", megabytes * (1 + number / 1000), 40_000)
    twinloop = str(Path(sys.executable).with_name("twinloop"))
    ratios = []
    for pair in range(pairs):
        walls = {}
        for workers in (1, 2) if pair % 2 == 0 else (2, 1):
            store = Store.create(folder / f"store-{pair}-{workers}")
            verb = [twinloop, "ingest", str(inputs), "--store", store.url, "--workers", str(workers)]
            walls[workers] = command([*verb, "--json"]).wall_s
            shutil.rmtree(store.work)
        ratios.append(walls[1] / walls[2])
        print(f"pair {pair}: {walls[1]:.2f} s with 1 worker, {walls[2]:.2f} s with 2", flush=True)
    return statistics.median(ratios)


def main() -> None:
    """Fill, list, take in, count, print."""
    quick = arguments(__doc__ or "").quick
    figures = {}
    with tempfile.TemporaryDirectory(prefix="twinloop-bench-") as name:
        folder = Path(name)
        asked = dict(listings(folder, 3 if quick else 2 * REPEATS))
        for what, milliseconds in asked.items():
            print(f"{what:<60} {milliseconds:8.1f} ms")
        figures["ls_100k_all_json_ms"] = asked.pop("episode ls --json")
        figures["ls_100k_ms"] = max(asked.values())
        count, megabytes, pairs = (8, 40, 1) if quick else (8, 150, 3)
        figures["ingest_scaling_2_workers"] = ingest_scaling(folder, count, megabytes, pairs)
    figures["s3_requests_per_session_open"] = requests_per_session_open()
    finish("store", figures, TARGETS)


if __name__ == "__main__":
    main()
