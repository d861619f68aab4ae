"""Framing and checksums, and what damage to them costs."""

from __future__ import annotations

import gzip
import zlib

import pytest
from rlds_files import framed

from twinloop.core.recording import Problem
from twinloop.formats.notes import Notes
from twinloop.formats.rlds.tfrecord import frames, masked_crc, open_bytes, read_record
from twinloop.formats.steps.room import Room

RECORDS = [bytes([n]) * (50 + n) for n in range(1, 6)]
#: Where each record begins.
STARTS = [sum(len(r) + 16 for r in RECORDS[:n]) for n in range(len(RECORDS))]


def read(path):
    notes = Notes()
    data = open_bytes(path)
    records = (read_record(data, f, path, notes, Room(), 3, verify=True) for f in frames(data, path, notes))
    found = [None if record is None else bytes(record) for record in records]
    data.close()
    return found, notes.all


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.tfrecord"
    path.write_bytes(b"".join(map(framed, RECORDS)))
    return path


def damage(path, at, value=None):
    data = bytearray(path.read_bytes())
    data[at] = data[at] ^ 0x10 if value is None else value
    path.write_bytes(data)


def test_the_mask_is_that_of_tensorflow():
    assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zlib.compress])
def test_records_come_as_written(path, pack):
    path.write_bytes(pack(path.read_bytes()))
    assert read(path) == (RECORDS, [])


def test_gzip_members_follow_one_another(path):
    data = path.read_bytes()
    path.write_bytes(gzip.compress(data[:100]) + gzip.compress(data[100:]))
    assert read(path) == (RECORDS, [])


def test_a_wrong_checksum_of_data_costs_that_record(path):
    damage(path, STARTS[2] + 12 + 7)
    found, notes = read(path)
    assert found == [*RECORDS[:2], None, *RECORDS[3:]]
    assert [(n.problem, n.where.byte, n.lost) for n in notes] == [(Problem.CORRUPT, STARTS[2] + 12, 3)]


def test_a_wrong_checksum_of_the_length_costs_nothing(path):
    damage(path, STARTS[2] + 9)
    found, notes = read(path)
    assert found == RECORDS
    assert [(n.problem, n.where.byte, n.lost) for n in notes] == [(Problem.CORRUPT, STARTS[2], 0)]


@pytest.mark.parametrize("value", [0, 255])
def test_after_a_wrong_length_the_next_record_is_searched_for(path, value):
    damage(path, STARTS[2], value)
    found, notes = read(path)
    assert found == [*RECORDS[:2], *RECORDS[3:]]
    assert f"goes on at byte {STARTS[3]}" in notes[0].message


def test_a_length_beyond_the_file_is_not_believed(path):
    damage(path, STARTS[2] + 6, 255)
    assert read(path)[0] == [*RECORDS[:2], *RECORDS[3:]]


@pytest.mark.parametrize("cut", [5, 14, 40])
def test_a_tail_that_is_cut_off_is_noted(path, cut):
    path.write_bytes(path.read_bytes()[: STARTS[4] + cut])
    found, notes = read(path)
    assert found == RECORDS[:4]
    assert [(n.problem, n.where.byte) for n in notes] == [(Problem.TRUNCATED, STARTS[4])]


def test_a_packed_file_that_is_cut_off_is_noted(path):
    packed = zlib.compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) // 2])
    found, notes = read(path)
    assert found != RECORDS
    assert notes
