"""Where a store's catalog lies, and the id that tells stores apart which share a PostgreSQL database."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError
from twinloop.core.ids import new_ulid
from twinloop.store.catalog.database import local_catalog_url

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from twinloop.store.objects import Objects

ENVIRONMENT = "TWINLOOP_CATALOG"

#: The id of a store that was made before ids stood in store.toml.
LATE_ID = "store-id"

_ID = re.compile(r"[0-9A-Za-z_]{1,50}")


def catalog_url(settings: Mapping[str, object], work: Path) -> str:
    """The environment variable's, or the settings', or SQLite in the store's folder on this machine."""
    return os.environ.get(ENVIRONMENT) or str(settings.get("catalog") or local_catalog_url(work))


def catalog_schema(settings: Mapping[str, object], objects: Objects) -> str:
    """The PostgreSQL schema of a store: named by its id, which an older store is given now.

    Raises:
        StoreError: the id is no name for a schema, or cannot be written.
    """
    id = settings.get("id")
    if id is None:
        if not objects.exists(LATE_ID):
            objects.put(LATE_ID, new_ulid().encode())  # of several processes, the first one's holds
        id = objects.get(LATE_ID).decode(errors="replace")
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise StoreError(
            f"the store has the id {id!r}",
            where="store.toml",
            expected="up to 50 letters, digits and underscores",
            fix="give it an id that no other store of its catalog's database has",
        )
    return f"twinloop_{id.lower()}"
