"""Texts that databases refuse, or that are too long for their indexes, are held alike in both."""

from __future__ import annotations

import random

import pytest
import sqlalchemy as sa

from twinloop.core.session import SessionFacts
from twinloop.store.catalog import tables
from twinloop.store.ingest import Status, ingest
from twinloop.store.queries import list_episodes, list_sessions
from twinloop.store.sources import IngestOptions
from twinloop.testing.synthetic import SessionSpec, record_session

pytestmark = pytest.mark.usefixtures("catalog_url")
HARD = ["a\0b", "a\u2400b", "a\u24000000b", "\udc80", "Łódź 机器人", "", " ", "%_'\"\\;--", "x\r\ny\t"]


def test_a_text_is_found_by_itself_and_by_nothing_else(store):
    with store.catalog._database.writing() as connection:
        for number, text in enumerate(HARD):
            row = {"noun": "tasks", "name": str(number), "id": text, "revision": 1}
            connection.execute(tables.facts.insert(), {**row, "at": "", "by": text, "data": {"x": text}})
        for number, text in enumerate(HARD):
            (found,) = connection.execute(sa.select(tables.facts).where(tables.facts.c.id == text)).fetchall()
            assert (found.name, found.data) == (str(number), {"x": text})
        connection.rollback()


def test_texts_that_cannot_be_stored_are_escaped_for_all_to_see(store):
    with store.catalog._database.reading() as connection:
        select = sa.select(sa.literal("tea\0pot \udc80 \u2400", tables.CatalogText()))
        assert connection.execute(select).scalar() == "tea\u24000000pot \u2400dc80 \u24002400"


def test_texts_of_any_length_in_every_fact(store, tmp_path):
    noise = random.Random(1)
    long = "".join(chr(noise.randrange(0x20, 0x7000)) for _ in range(30_000))
    record_session(tmp_path / "take.mcap", SessionSpec(seed=3, duration_s=2.0, cameras=(), imu_hz=0))
    facts = SessionFacts(long, "o" + long, "s" + long, "r" + long, None, None, {long: long})
    outcome = ingest(store, tmp_path / "take.mcap", IngestOptions(facts=facts))
    assert outcome.status is Status.STORED, outcome
    episodes = list_episodes(store.catalog, task=long)
    store.edit_episodes([row.id for row in episodes], exclude=long, instruction="a\0" + long)
    store.journal.append("note", [long], {"of": long})
    store.catalog.sync()
    assert store.catalog.problems == []
    assert store.catalog.stale() == []
    (row,) = list_sessions(store.catalog, task=long, operator="o" + long)
    assert row.excluded == row.episodes > 0
    assert store.session("last").session.episodes[0].instruction == "a\0" + long


def test_times_of_64_bits(store):
    ends = {"start_ns": -(2**63), "end_ns": 2**63 - 1}
    row = {"id": "E", "session": "S", "number": 0, "recording": "", "outcome": "unknown", **ends}
    with store.catalog._database.writing() as connection:
        connection.execute(tables.episodes.insert(), row)
        found = connection.execute(sa.select(tables.episodes)).one()
        assert (found.start_ns, found.end_ns) == (-(2**63), 2**63 - 1)
        connection.rollback()
