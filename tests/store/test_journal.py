"""The journal: durable lines from many processes, torn ones told apart, entries taken back and forth."""

from __future__ import annotations

import os
import time

from hypothesis import given
from hypothesis import strategies as st

from twinloop.store.journal import UNDO, Entry, Journal, decode_line, effective, encode_line
from twinloop.store.local_objects import LocalObjects


def entry(number, kind="episode", target="e"):
    return Entry(f"{number:026d}", "2026-01-05T10:00:00Z", "me@here", kind, target, {"n": number}, f"c{number}")


@given(st.text(), st.text(), st.dictionaries(st.text(), st.text()))
def test_a_line_gives_its_entry_and_no_part_of_it_does(by, target, data):
    said = Entry("0" * 26, "2026-01-05T10:00:00Z", by, "episode", target, data, "c")
    line = encode_line(said)
    assert line.count(b"\n") == 1
    assert decode_line(line) == said
    assert decode_line(line[:-2] + b"\n") is None
    assert decode_line(line[: len(line) // 2] + b"\n") is None


def test_several_processes_write_whole_lines(tmp_path):
    children = []
    for process in range(4):
        child = os.fork()
        if not child:
            journal = Journal(LocalObjects(tmp_path))
            for number in range(20):
                journal.append("episode", [f"{process}-{number}-{i}" for i in range(3)], {"x": "y" * 500})
            os._exit(0)
        children.append(child)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    journal = Journal(LocalObjects(tmp_path))
    (key,) = journal.files()
    part = journal.read(key)
    assert not part.torn
    assert len({e.target for e in part.entries}) == len(part.entries) == 240


def test_a_line_torn_by_a_crash_is_closed_by_the_next_one(tmp_path):
    journal = Journal(LocalObjects(tmp_path))
    journal.append("episode", ["a"], {})
    (key,) = journal.files()
    with (tmp_path / key).open("ab") as file:
        file.write(b'{"id":"torn","at":')
    torn = journal.read(key)
    assert len(torn.torn) == 1
    assert torn.end == torn.torn[0].where.byte
    journal.append("episode", ["b"], {})
    assert [e.target for e in journal.entries()] == ["a", "b"]
    assert [e.target for e in journal.read(key, torn.end).entries] == ["b"]


def test_what_is_said_later_comes_later_whatever_the_clock_says(tmp_path, monkeypatch):
    year_ns = 365 * 86_400 * 1_000_000_000
    true_time = time.time_ns
    for number, (host, off_ns) in enumerate([("a", 0), ("a", -year_ns), ("b", year_ns), ("a", 0), ("b", 0)]):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        monkeypatch.setattr("time.time_ns", lambda off_ns=off_ns: true_time() + off_ns)
        Journal(LocalObjects(tmp_path)).append("episode", [f"{number}-{i}" for i in range(3)], {})
    entries = Journal(LocalObjects(tmp_path)).entries()
    assert [e.target for e in entries] == [f"{number}-{i}" for number in range(5) for i in range(3)]
    assert len({e.id for e in entries}) == 15


@given(st.data())
def test_an_entry_holds_unless_a_holding_undo_names_it(data):
    entries = []
    for number in range(data.draw(st.integers(1, 8))):
        targets = [e.id for e in entries] + [e.command for e in entries]
        if targets and data.draw(st.booleans()):
            entries.append(entry(number, UNDO, data.draw(st.sampled_from(targets))))
        else:
            entries.append(entry(number))
    holding: dict[str, bool] = {}
    for said in reversed(entries):  # an undo comes after what it takes back
        holding[said.id] = not any(
            holding[e.id]
            for e in entries
            if e.kind == UNDO and e.target in (said.id, said.command) and e is not said
        )
    assert [e.id for e in effective(entries)] == [e.id for e in entries if e.kind != UNDO and holding[e.id]]


def test_ids_of_one_process_grow(tmp_path):
    journal = Journal(LocalObjects(tmp_path))
    ids = [e.id for _ in range(50) for e in journal.append("episode", ["a", "b"], {})]
    assert ids == sorted(set(ids))
