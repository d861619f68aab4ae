"""What the store needs of a place holds in a folder, in memory and on S3 alike."""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from twinloop.core.errors import StoreError, UsageError
from twinloop.store import remote_objects
from twinloop.store.locations import locate
from twinloop.store.objects import MissingObjectError, encode_name

_numbers = count()


@pytest.fixture(params=["local", "memory", "s3"])
def objects(request, tmp_path, monkeypatch):
    monkeypatch.setattr(remote_objects, "PART_BYTES", 5 << 20)  # S3's least
    place = {
        "local": lambda: tmp_path / "objects",
        "memory": lambda: f"memory://objects-{next(_numbers)}",
        "s3": lambda: f"{request.getfixturevalue('bucket')}/a/b",
    }[request.param]()
    location = locate(place)
    location.work.mkdir(exist_ok=True, parents=True)
    return location.objects


def make(tmp_path, content: bytes):
    path = tmp_path / f"file-{next(_numbers)}"
    path.write_bytes(content)
    return path


def test_the_first_writer_wins(objects):
    assert objects.put("a/b.json", b"first")
    assert not objects.put("a/b.json", b"second")
    assert not objects.put("a/b.json", b"first")
    assert objects.get("a/b.json") == b"first"


def test_one_of_many_writers_at_once_wins(objects):
    with ThreadPoolExecutor(8) as writers:
        won = list(writers.map(lambda number: objects.put("a/b.json", b"%d" % number), range(8)))
    assert sum(won) == 1
    assert objects.get("a/b.json") == b"%d" % won.index(True)


@pytest.mark.parametrize("size", [0, 1, (12 << 20) + 7])
def test_files_go_in_and_come_out_whole(objects, tmp_path, size):
    content = hashlib.shake_128(b"seed").digest(size)
    digest = hashlib.sha256(content).hexdigest()
    for keep in (True, False):
        path = make(objects.root if hasattr(objects, "root") else tmp_path, content)
        assert objects.put_file(f"files/{keep}", path, keep=keep)
        assert path.exists() is keep
        path.write_bytes(b"other")
        assert not objects.put_file(f"files/{keep}", path)
        assert objects.size(f"files/{keep}") == size
        assert objects.digest(f"files/{keep}") == digest
        assert objects.path(f"files/{keep}", digest).read_bytes() == content
        assert objects.get(f"files/{keep}") == content
    with objects.open("files/True") as file:
        assert file.read(3) == content[:3]
        file.seek(-2, io.SEEK_END) if size > 2 else file.seek(0)
        assert file.read() == content[-2:]
        file.seek(size // 2)
        assert file.read() == content[size // 2 :]


def test_names_of_every_kind_are_keys(objects):
    names = ["a b", "a/b", "é", "100%", "~.x", "..", "", "#?&+=:;", "x" * 400, "tab\tand\nline"]
    keys = [f"names/{encode_name(name)}" for name in names]
    for key in keys:
        assert objects.put(key, key.encode())
    assert sorted(objects.walk("names")) == sorted(keys)
    assert [f"names/{name}" for name in objects.children("names")] == sorted(keys)
    assert [objects.get(key) for key in keys] == [key.encode() for key in keys]


def test_listings_show_what_is_there(objects):
    keys = ["s/1/m-1.json", "s/1/m-2.json", "s/1/streams/x/a", "s/2/m-1.json", "s/2x/m", "s/loose", "t/1"]
    for size, key in enumerate(keys):
        objects.put(key, b"x" * size)
    assert list(objects.walk("s/1")) == keys[:3]
    assert dict(objects.listing("s")) == {key: size for size, key in enumerate(keys[:6])}
    assert objects.children("s") == ["1", "2", "2x", "loose"]
    folders = {name: sorted(names) for name, names in objects.folders("s").items()}
    assert {name: [n for n in names if n != "streams"] for name, names in folders.items()} == {
        "1": ["m-1.json", "m-2.json"],
        "2": ["m-1.json"],
        "2x": ["m"],
    }
    for nothing in ("nowhere", "t/1"):
        assert not objects.children(nothing)
        assert not objects.folders(nothing)
        assert list(objects.listing("nowhere")) == []


def test_what_is_not_there_is_said(objects):
    assert not objects.exists("a/b")
    for ask in (objects.get, objects.open, objects.size, objects.digest, objects.modified):
        with pytest.raises(MissingObjectError, match="lacks a/b"):
            ask("a/b")
    objects.delete("a/b")


def test_what_is_deleted_is_gone_from_the_cache_too(objects):
    objects.put("a/b", b"x")
    path = objects.path("a/b")
    assert path == objects.place("a/b")
    objects.delete("a/b")
    assert not path.exists()
    assert not objects.exists("a/b")


def test_bytes_are_overwritten_in_place(objects):
    objects.put("a/b", b"one two three")
    objects.overwrite("a/b", 4, b"***")
    assert objects.get("a/b") == b"one *** three"


def test_appended_lines_come_back_in_order(objects):
    for number in range(3):
        objects.append("journal/host.jsonl", b"%d\n" % number)
    assert b"".join(objects.get(key) for key in sorted(objects.walk("journal"))) == b"0\n1\n2\n"


def test_lines_appended_at_once_are_all_there(objects):
    with ThreadPoolExecutor(6) as writers:
        list(writers.map(lambda number: objects.append("journal/host.jsonl", b"%d\n" % number), range(12)))
    lines = b"".join(objects.get(key) for key in objects.walk("journal")).split()
    assert sorted(map(int, lines)) == list(range(12))


def test_a_file_that_is_not_what_its_record_says_is_refused(bucket):
    objects = locate(f"{bucket}/a").objects
    objects.put("a/b", b"x")
    with pytest.raises(StoreError, match="SHA-256"):
        objects.path("a/b", hashlib.sha256(b"y").hexdigest())
    assert not objects.place("a/b").exists()


@pytest.mark.parametrize("url", ["ftp://host/x", "s3://", "s3:///x", "gs://bucket", "s3://bucket/x?y=1"])
def test_urls_that_mean_no_store_are_refused(url):
    with pytest.raises(UsageError, match="no store can lie at"):
        locate(url)


def test_a_url_that_lost_a_slash_is_no_folder():
    with pytest.raises(UsageError, match="a slash is missing"):
        locate("s3:/bucket/x")


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        ("garbage", "no address of a server"),
        ("ftp://host", "no address of a server"),
        ("http://", "no address of a server"),
        ("http://host:port", "no address of a server"),
        ("https://a b", "no address of a server"),
        ("http://127.0.0.1:9", "AWS_ALLOW_HTTP=true"),
    ],
)
def test_an_endpoint_that_cannot_be_asked_is_refused(monkeypatch, endpoint, said):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "false")
    with pytest.raises(UsageError) as refused:
        locate("s3://bucket/x")
    assert said in str(refused.value)


def test_a_setting_that_cannot_be_meant_is_told_in_one_line(monkeypatch):
    monkeypatch.setenv("AWS_TIMEOUT", "banana")
    with pytest.raises(UsageError, match="banana") as refused:
        locate("s3://bucket/x")
    assert "\n" not in refused.value.what
