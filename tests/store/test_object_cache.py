"""Fetched files stay while someone holds them, and go, longest unused first, when they are too many."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from twinloop.core.errors import StoreError, UsageError
from twinloop.store.object_cache import ObjectCache, limit_from_environment


def fetcher(content: bytes, calls: list[bytes] | None = None):
    def fetch(path):
        path.write_bytes(content)
        if calls is not None:
            calls.append(content)

    return fetch


def use(cache: ObjectCache, key: str, used_at: float) -> None:
    """Fetch, let go, and let the last use be at a time."""
    path = cache.hold(key, fetcher(b"x" * 40))
    cache.release(key)
    os.utime(path, (used_at, used_at))


def kept(cache: ObjectCache) -> set[str]:
    return {path.name for path in (cache.work / "objects").rglob("*") if path.is_file()}


def test_a_file_is_fetched_once(tmp_path):
    calls: list[bytes] = []
    cache = ObjectCache(tmp_path, 1000)
    for _ in range(2):
        assert cache.hold("a/b", fetcher(b"one", calls)).read_bytes() == b"one"
    assert ObjectCache(tmp_path, 1000).hold("a/b", fetcher(b"one", calls)).read_bytes() == b"one"
    assert calls == [b"one"]


def test_what_was_used_longest_ago_goes_first(tmp_path):
    cache = ObjectCache(tmp_path, 100)
    use(cache, "a", 20.0)
    use(cache, "b", 10.0)
    use(cache, "c", 30.0)
    assert kept(cache) == {"a", "c"}
    cache.hold("a", fetcher(b""))
    cache.release("a")
    use(cache, "d", 40.0)
    assert kept(cache) == {"a", "d"}


def test_what_is_held_stays_whatever_its_size(tmp_path):
    cache = ObjectCache(tmp_path, 30)
    for key in "abc":
        cache.hold(key, fetcher(b"x" * 40))
    cache.hold("a", fetcher(b""))
    assert kept(cache) == {"a", "b", "c"}
    cache.release("a")
    cache.release("c")
    use(cache, "d", 1.0)
    assert kept(cache) == {"a", "b", "d"}  # a was held twice; d, as long as it took
    use(cache, "e", 2.0)
    assert kept(cache) == {"a", "b", "e"}


def test_what_another_process_holds_stays_until_it_ends(tmp_path):
    program = (
        "import sys; from pathlib import Path; from twinloop.store.object_cache import ObjectCache\n"
        "cache = ObjectCache(Path(sys.argv[1]), 1000)\n"
        "cache.hold('theirs', lambda path: path.write_bytes(b'x' * 40))\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        os.utime(tmp_path / "objects" / "theirs", (0, 0))
        cache = ObjectCache(tmp_path, 50)
        use(cache, "mine", 1.0)
        use(cache, "more", 2.0)
        assert kept(cache) == {"theirs", "more"}
        other.stdin.close()
        other.wait()
    use(cache, "last", 3.0)
    assert kept(cache) == {"last"}
    assert len(list((tmp_path / "holders").iterdir())) == 1


def test_a_fetch_that_fails_leaves_nothing(tmp_path):
    def fail(path):
        path.write_bytes(b"half")
        raise StoreError("the line went dead")

    cache = ObjectCache(tmp_path, 1000)
    with pytest.raises(StoreError, match="went dead"):
        cache.hold("a", fail)
    assert not kept(cache)
    assert not list((tmp_path / "staging").iterdir())


def test_the_limit_is_a_number(monkeypatch):
    monkeypatch.setenv("TWINLOOP_CACHE_BYTES", "5000")
    assert limit_from_environment() == 5000
    monkeypatch.setenv("TWINLOOP_CACHE_BYTES", "5 GB")
    with pytest.raises(UsageError, match="TWINLOOP_CACHE_BYTES"):
        limit_from_environment()
