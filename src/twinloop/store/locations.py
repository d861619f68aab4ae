"""Where a store lies: what a path or URL means, and the folder of this machine's own work on it."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from twinloop.core.errors import UsageError
from twinloop.store.local_objects import LocalObjects

if TYPE_CHECKING:
    from obstore.store import MemoryStore, ObjectStore, RetryConfig

    from twinloop.store.objects import Objects

#: Environment variable that names the cache directory; the default is ``twinloop`` in the user's.
CACHE = "TWINLOOP_CACHE"

#: How long obstore goes on with requests that are safe to repeat.
RETRIES: RetryConfig = {
    "max_retries": 8,
    "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=5), "base": 2},
    "retry_timeout": timedelta(minutes=2),
}
#: A part (8 MiB) may take a minute. AWS_TIMEOUT and AWS_CONNECT_TIMEOUT say otherwise.
_TIMEOUTS = {"timeout": "60s", "connect_timeout": "5s"}


@dataclass(frozen=True, slots=True)
class Location:
    """A place for a store.

    Attributes:
        url: a folder's absolute path, or a URL; other processes open it again by this.
        work: the local folder of this machine's unfinished work. objects: what lies there.
    """

    url: str
    work: Path
    objects: Objects

    @property
    def is_local(self) -> bool:
        """Whether it is a folder."""
        return not is_url(self.url)


def is_url(given: Path | str) -> bool:
    """Whether a store is named by URL. (A URL that became a path has lost a slash.)"""
    return "://" in str(given)


def locate(given: Path | str) -> Location:
    """The place that a path, ``s3://bucket/prefix`` or ``memory://name`` means. Nothing is looked up yet.

    Raises:
        UsageError: a URL of another kind, or one without a bucket.
    """
    if not is_url(given):
        if str(given).lower().startswith("s3:"):
            raise UsageError(f"a slash is missing in {given}", expected="s3://BUCKET/PREFIX")
        root = Path(given).absolute()
        return Location(str(root), root, LocalObjects(root))
    parts = urlsplit(str(given))
    prefix = parts.path.strip("/")
    if parts.query or parts.fragment or not parts.netloc or parts.scheme not in ("s3", "memory"):
        raise UsageError(
            f"no store can lie at {given}",
            expected="a folder's path, or s3://BUCKET/PREFIX (memory://NAME in tests)",
        )
    url = f"{parts.scheme}://{parts.netloc}" + (f"/{prefix}" if prefix else "")
    if parts.scheme == "memory":
        return _remote(url, _memory(url), _memory_work(url))
    return _remote(
        url, _s3(parts.netloc, prefix), _cache_directory() / hashlib.sha256(url.encode()).hexdigest()[:16]
    )


def _remote(url: str, store: ObjectStore, work: Path) -> Location:
    from twinloop.store.object_cache import ObjectCache
    from twinloop.store.remote_objects import RemoteObjects

    return Location(url, work, RemoteObjects(url, store, ObjectCache(work)))


def _s3(bucket: str, prefix: str) -> ObjectStore:
    """S3 as the environment says: AWS_ENDPOINT_URL, AWS_REGION, AWS_ALLOW_HTTP, AWS_ACCESS_KEY_ID..."""
    from obstore.exceptions import BaseError
    from obstore.store import S3Store

    _check_endpoint(bucket)
    limits = {name: limit for name, limit in _TIMEOUTS.items() if f"AWS_{name.upper()}" not in os.environ}
    try:
        return S3Store(bucket, prefix=prefix or None, config=limits, retry_config=RETRIES)  # type: ignore[arg-type]
    except (BaseError, ValueError) as error:
        raise UsageError(
            f"S3 cannot be reached as the environment says: {str(error).partition(chr(10))[0]}",
            where=f"s3://{bucket}",
            fix="check the variables AWS_...: docs/stores.md lists them",
        ) from error


def _check_endpoint(bucket: str) -> None:
    """Refuse an endpoint that obstore would take, and then fail at without a word of why."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    try:
        parts = urlsplit(endpoint)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    unencrypted = endpoint.lower().startswith("http://")
    if endpoint and not (whole and endpoint.isascii() and not any(map(str.isspace, endpoint))):
        fault, fix = "is no address of a server", ""
    elif unencrypted and os.environ.get("AWS_ALLOW_HTTP", "false").lower() in ("", "false", "0", "no", "off"):
        fault, fix = "is not encrypted", "AWS_ALLOW_HTTP=true allows it"
    else:
        return
    raise UsageError(
        f"AWS_ENDPOINT_URL {fault}: {endpoint}", where=f"s3://{bucket}", expected="https://HOST[:PORT]", fix=fix
    )


def _cache_directory() -> Path:
    """TWINLOOP_CACHE, or ``twinloop`` in the user's cache directory (XDG_CACHE_HOME, ~/.cache)."""
    if own := os.environ.get(CACHE):
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "twinloop"


@cache
def _memory(url: str) -> MemoryStore:  # noqa: ARG001
    """The memory behind a URL, for as long as this process lives."""
    from obstore.store import MemoryStore

    return MemoryStore()


@cache
def _memory_work(url: str) -> Path:  # noqa: ARG001
    """A folder for the work on a store in memory; it goes with the process."""
    folder = tempfile.mkdtemp(prefix="twinloop-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
