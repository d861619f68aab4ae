"""Who writes to the store, and when."""

from __future__ import annotations

import getpass
import os
import socket
from datetime import UTC, datetime


def writer_name() -> str:
    """``user@host``; `TWINLOOP_USER` replaces the user where several people share a login."""
    try:
        user = os.environ.get("TWINLOOP_USER") or getpass.getuser()
    except (OSError, KeyError):  # a user id without a name, as in containers
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def now() -> str:
    """The time, ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_since(at: str) -> float:
    """How long ago a time was that `now` gave; of a text that is no time, long ago."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
    except (ValueError, TypeError):
        return float("inf")
