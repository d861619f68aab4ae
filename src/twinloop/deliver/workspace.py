"""An output that is there whole or not at all: written beside its place, moved there at the end."""

from __future__ import annotations

import errno
import glob
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import TwinloopError, UnreachableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def whole_folder(out: Path, force: bool = False) -> Iterator[Path]:
    """A new folder beside `out`, moved to `out` when the block ends without an error, else removed.

    What an export that was killed left beside `out` is removed first.

    Raises:
        UsageError: `out` exists, and `force` does not allow to replace it.
        TwinloopError: the system refuses to write there, or the disk is full.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100  (resolve would follow a link to be replaced)
    _tidy(out)
    if (out.exists() or out.is_symlink()) and not force:
        raise UsageError(
            "the folder exists already", where=str(out), fix="choose another --out, or replace it: --force"
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.parent / f".{out.name}.partial-{os.getpid()}"
        partial.mkdir()
    except OSError as error:
        raise _refused(error, out.parent) from error
    try:
        yield partial
        _move(partial, out, force)
    except UnreachableError:
        raise
    except OSError as error:
        raise _refused(error, partial) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def whole_file(out: Path, force: bool = False) -> Iterator[tuple[Path, Path]]:
    """A new file and the folder for what its format has no place for, ``<out>.twinloop``: as `whole_folder`.

    The folder comes to its place first: where the file is, its folder is. An empty one goes again.

    Raises:
        UsageError, TwinloopError: as `whole_folder`.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100
    beside = out.with_name(f"{out.name}.twinloop")
    if (out.exists() or out.is_symlink()) and not force:
        raise UsageError(
            "the file exists already", where=str(out), fix="choose another --out, or replace it: --force"
        )
    for left in _left_by_the_dead(out, "partial"):
        left.unlink()
    moved = out.with_name(f".{out.name}.partial-{os.getpid()}")
    with whole_folder(beside, force=True) as partial:
        written = partial / out.name
        yield written, partial
        written.rename(moved)
    if not any(beside.iterdir()):
        beside.rmdir()
    if out.is_dir() and not out.is_symlink():
        shutil.rmtree(out)
    moved.rename(out)


def _move(partial: Path, out: Path, force: bool) -> None:
    if force and (out.exists() or out.is_symlink()):
        old = out.parent / f".{out.name}.replaced-{os.getpid()}"
        out.rename(old)
        partial.rename(out)
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink()
    else:
        partial.rename(out)


def _tidy(out: Path) -> None:
    """Undo or finish what a killed process left: a folder that was about to be replaced comes back."""
    for old in _left_by_the_dead(out, "replaced"):
        if out.exists() or out.is_symlink():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(out)
    for partial in _left_by_the_dead(out, "partial"):
        shutil.rmtree(partial, ignore_errors=True)


def _left_by_the_dead(out: Path, kind: str) -> list[Path]:
    folders = sorted(out.parent.glob(f".{glob.escape(out.name)}.{kind}-*"))
    return [f for f in folders if (pid := f.name.rsplit("-", 1)[-1]).isdigit() and not _runs(int(pid))]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class RefusedError(TwinloopError):
    """The system did not let an export be written."""

    exit_code = 3


def _refused(error: OSError, where: Path) -> TwinloopError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return RefusedError(
        "the disk is full" if full else f"the system refuses to write: {error.strerror or error}",
        where=error.filename or str(where),
        fix="make room and export again" if full else "check the permissions, or choose another --out",
    )
