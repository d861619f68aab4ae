"""A store is made in a new folder, and in one where its making was interrupted before."""

from __future__ import annotations

import errno
import os

import pytest

from twinloop.core.errors import StoreError, UsageError
from twinloop.store.staging import STAGING
from twinloop.store.store import Store


def test_a_full_disk_keeps_no_store_from_being_made_later(tmp_path, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="No space left"):
        patch.setattr(os, "write", full)
        Store.create(tmp_path / "store")
    assert [path.name for path in (tmp_path / "store").iterdir()] == [STAGING]
    assert Store.create(tmp_path / "store").url == str(tmp_path / "store")


def test_a_folder_of_that_name_with_something_in_it_is_no_store_begun(tmp_path):
    (tmp_path / "store" / STAGING).mkdir(parents=True)
    (tmp_path / "store" / STAGING / "film.mov").write_bytes(b"x")
    with pytest.raises(UsageError, match="not empty"):
        Store.create(tmp_path / "store")
