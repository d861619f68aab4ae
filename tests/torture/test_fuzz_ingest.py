"""Damaged files of every format taken into a store that holds something: nothing of that changes.

Each ends in the store, in quarantine, or in a clear refusal; never as a crash of ours, a hang, or memory that
runs away. `--torture` takes in ten times as many.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from pathlib import Path

import pytest
from fuzz_families import families
from scenarios import record

from twinloop.formats.reader import ReadOptions
from twinloop.store.fsck.check import check_store
from twinloop.store.fsck.trouble import Harm
from twinloop.store.ingest import ingest
from twinloop.store.outcome import Status
from twinloop.store.queries import list_sessions
from twinloop.store.sources import IngestOptions
from twinloop.store.store import Store
from twinloop.testing.forked import import_as, run_forked
from twinloop.testing.mutation import mutated_copy

INPUTS, TORTURE_INPUTS = 20, 200
ENDS = (Status.STORED, Status.PRESENT, Status.QUARANTINED, Status.FAILED)


def held(root: Path) -> dict[str, str]:
    """The digests of all files that nothing may change."""
    files = (path for area in ("blobs", "sessions") for path in (root / area).rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def contents(root: Path, session: str) -> dict[str, object]:
    with Store.open(root).session(session) as stored:
        return {name: stored.read(name) for name in stored.streams}


def stated(options: ReadOptions) -> IngestOptions:
    return IngestOptions(types_dir=options.types_dir, mapping=options.table_mapping)


@pytest.mark.parametrize("family", families())
def test_damage_is_taken_in_or_set_aside(family: str, tmp_path: Path, torture: bool) -> None:
    samples = []
    for number, suite in enumerate(families()[family]):
        folder = tmp_path / f"sound-{number}"
        folder.mkdir()
        samples.append((suite().make_sample(folder).path, suite.options))
    root = Store.create(tmp_path / "store").work
    good = ingest(Store.open(root), record(tmp_path / "good" / "take.mcap", 1)).session
    assert good
    before, read_before = held(root), contents(root, good)

    def take_in(seed: int) -> None:
        sample, options = samples[seed % len(samples)]
        folder = tmp_path / f"damaged-{seed}"
        path = mutated_copy(sample, folder, seed)
        try:
            outcome = ingest(Store.open(root), path, stated(options))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        assert outcome.status in ENDS, outcome
        assert outcome.exit_code in (0, 2, 3), outcome  # 2: a mapping beside it names what it has not
        assert "twinloop failed on it" not in outcome.message, outcome

    def rehearse() -> None:
        for sample, options in samples:
            ingest(Store.create(tmp_path / "rehearsal"), sample, stated(options))

    import_as(rehearse)
    seeds = range(TORTURE_INPUTS if torture else INPUTS)
    faults = [verdict for verdict in run_forked(take_in, seeds, seconds=30) if verdict.fault]
    kinds = Counter(fault.fault.splitlines()[0][:80] for fault in faults)
    assert not faults, f"{dict(kinds)}; seed {faults[0].number}: {faults[0].fault}"
    after = held(root)
    assert {key: after.get(key) for key in before} == before
    assert contents(root, good) == read_before
    store = Store.open(root)
    assert [trouble for trouble in check_store(store) if trouble.harm is not Harm.LEFTOVER] == []
    for row in list_sessions(store.catalog):
        with store.session(row.id) as session:
            for _ in session.scan():
                pass
