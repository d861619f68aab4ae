"""Work in a forked child: on some damaged files the HDF5 library crashes or hangs, and takes its process along.

(Lengths of values in its global heap are not held against the heap, for one.) What the child finds is pickled
back; h5py itself takes care of its lock across a fork.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import select
import signal
import time
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from twinloop.core.errors import MappingError, TwinloopError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")

#: Seconds, of the processor and of the clock, after which a child is taken to hang.
_PATIENCE_CPU_S, _PATIENCE_S = 30, 600.0
_PIECE = 1 << 20


def apart(function: Callable[[], T], path: Path) -> T:
    """What `function` gives, computed in a child where the system can fork.

    Raises:
        UnreadableError: the child crashed or hung over the file `path`; or what `function` raises.
    """
    if os.name != "posix":
        return function()
    receiver, sender = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: h5py's lock is looked after
        child = os.fork()
    if child == 0:
        _answer(function, sender)
    os.close(sender)
    try:
        answer = _received(receiver)
    finally:
        os.close(receiver)
        sound = _ended(child)
    if not answer or not sound:
        raise UnreadableError(
            "the HDF5 file is damaged: the HDF5 library crashes on it",
            where=str(path),
            fix="fetch it again, or copy what h5repack can save of it",
        )
    fine, value = pickle.loads(answer)
    if fine:
        return value  # type: ignore[no-any-return]
    kind, words = value
    raise (MappingError if kind == MappingError.__name__ else UnreadableError)(**words)


def _answer(function: Callable[[], object], sender: int) -> None:
    """The child's part; it never returns. The system ends it when it has used up its processor time."""
    import resource  # not on every system

    gc.disable()  # a collection would touch, and so copy, every page of the parent
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CPU, (_PATIENCE_CPU_S, _PATIENCE_CPU_S))
    try:
        try:
            answer: tuple[bool, Any] = (True, function())
        except TwinloopError as error:
            words = {"what": error.what, "where": error.where, "expected": error.expected, "fix": error.fix}
            answer = (False, (type(error).__name__, words))
        data = memoryview(pickle.dumps(answer))
        while data:
            data = data[os.write(sender, data[:_PIECE]) :]
    finally:
        os._exit(0)


def _received(receiver: int) -> bytes:
    """All that the child writes, until it ends or is taken to hang."""
    pieces: list[bytes] = []
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        ready, _, _ = select.select([receiver], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b""
        piece = os.read(receiver, _PIECE)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _ended(child: int) -> bool:
    """Whether the child ended by itself; one that hangs is ended here, and waited for."""
    for _ in range(100):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False
