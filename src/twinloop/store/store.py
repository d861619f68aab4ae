"""The store: made, found, opened; the door to sessions, episodes, registry and journal."""

from __future__ import annotations

import json
import os
import tomllib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, UsageError
from twinloop.core.ids import new_ulid
from twinloop.store.disk import reporting_system_errors
from twinloop.store.edits import EPISODE, apply_edits, edit_data
from twinloop.store.journal import UNDO, Journal
from twinloop.store.locations import Location, locate
from twinloop.store.manifest import Manifests
from twinloop.store.objects import MissingObjectError
from twinloop.store.places import Places
from twinloop.store.quarantine import Quarantine
from twinloop.store.registry import RegistryOfFacts
from twinloop.store.staging import STAGING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.core.session import Outcome
    from twinloop.store.catalog.catalog import Catalog
    from twinloop.store.journal import Entry
    from twinloop.store.manifest import Manifest
    from twinloop.store.objects import Objects
    from twinloop.store.stored import StoredSession

MARKER = "store.toml"
FORMAT = 1
ENVIRONMENT = "TWINLOOP_STORE"

_TEMPLATE = f"""\
# A twinloop store. Everything below this folder is twinloop's; `twinloop store fsck` checks it.
format = {FORMAT}

# Tells it from other stores whose catalogs lie in the same database. A copy needs an id of its own.
id = "%s"

# Where the catalog lies; it is a cache that `twinloop store rebuild` makes anew.
%s
"""
_NO_CATALOG = '# catalog = "postgresql://user@host/database"'


class Store:
    """A store in a folder, or in an object store.

    Attributes:
        url: where it lies, for people and other processes: a folder's path, or a URL.
        work: the local folder of this machine's unfinished work: staging and locks.
        objects, manifests, journal, registry, quarantine: its parts.
        catalog: opened, and brought up to date, when first asked for.
    """

    def __init__(self, location: Location, settings: dict[str, object]) -> None:
        self.url = location.url
        self.work = location.work
        self.settings = settings
        self.objects = location.objects
        self.manifests = Manifests(self.objects)
        self.journal = Journal(self.objects)
        self.registry = RegistryOfFacts(self.objects)
        self.quarantine = Quarantine(self.objects)

    @classmethod
    def create(cls, place: Path | str, catalog: str | None = None) -> Store:
        """Make a store in a new or empty folder or prefix. A store that is there already is opened.

        Args:
            catalog: URL of its catalog; default: SQLite beside it.

        Raises:
            UsageError: there is something else, or a store with another catalog.
            StoreError: it cannot be written, or its catalog cannot be used.
        """
        location = locate(place)
        if location.objects.exists(MARKER):
            return cls.open(location.url)._with_catalog(catalog)
        if location.is_local:
            _make_folder(location.work)
        elif location.objects.children(""):
            raise UsageError(
                "there is something already",
                where=location.url,
                expected="a bucket or prefix without objects: everything in a store is twinloop's",
                fix=f"twinloop init {location.url}/store",
            )
        settings = _settings_of_new(location.objects, catalog).encode()
        location.objects.put(MARKER, settings)
        if location.objects.shared and location.objects.put(MARKER, settings):
            raise StoreError(
                "the object store writes over what is there",
                where=location.url,
                expected="conditional writes (If-None-Match: *), without which writers undo each other's work",
                fix="use a server that has them",
            )
        return cls.open(location.url)._with_catalog(catalog)

    def _with_catalog(self, catalog: str | None) -> Store:
        """This store, if `catalog` is not another one than it has."""
        if catalog is not None and self.settings.get("catalog") != catalog:
            raise UsageError(
                "the store is there already, with another catalog",
                where=self.url,
                fix=f"change `catalog` in its {MARKER}",
            )
        return self

    @classmethod
    def open(cls, place: Path | str) -> Store:
        """Open the store at a path or URL.

        Raises:
            StoreError: there is none, its settings are damaged, or it is of a later format.
        """
        location = locate(place)
        marker = f"{location.url}/{MARKER}"
        try:
            settings = tomllib.loads(location.objects.get(MARKER).decode())
        except MissingObjectError:
            where = location.url
            raise StoreError("there is no store", where=where, fix=f"twinloop init {where}") from None
        except ValueError as error:
            raise StoreError(f"the store's settings cannot be read: {error}", where=marker) from error
        format = settings.get("format")
        if not isinstance(format, int) or format > FORMAT:
            raise StoreError(
                f"the store has format {format!r}",
                where=marker,
                expected=f"at most {FORMAT}",
                fix="update twinloop",
            )
        if not location.is_local:
            with reporting_system_errors(location.work):
                location.work.mkdir(parents=True, exist_ok=True)
        return cls(location, settings)

    @classmethod
    def find(cls, given: Path | str | None = None) -> Store:
        """The store that is meant: the given one, TWINLOOP_STORE's, or the nearest one up from here.

        Raises:
            StoreError: there is none.
        """
        if named := given or os.environ.get(ENVIRONMENT):
            return cls.open(named)
        here = Path.cwd()
        for folder in (here, *here.parents):
            if (folder / MARKER).is_file():
                return cls.open(folder)
        raise StoreError(
            "no store was named, and none is in this folder or above it",
            where=str(here),
            expected=f"--store DIR|URL, the environment variable {ENVIRONMENT}, or a folder with a {MARKER}",
            fix="make one with `twinloop init DIR`",
        )

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog, up to date with what was committed when it was first asked for."""
        from twinloop.store.catalog.catalog import Catalog

        url, schema = self.catalog_place()
        parts = self.objects, self.manifests, self.journal, self.registry
        catalog = Catalog(url, *parts, schema=schema)
        catalog.open()
        return catalog

    def catalog_place(self) -> tuple[str, str]:
        """The URL of the catalog's database, and the store's schema in it."""
        from twinloop.store.catalog.place import catalog_schema, catalog_url

        url = catalog_url(self.settings, self._catalog_folder())
        return url, "" if url.startswith("sqlite:") else catalog_schema(self.settings, self.objects)

    def _catalog_folder(self) -> Path:
        """Beside a local store; else in the cache, by the store's id: its URL may come to mean another."""
        if not self.objects.shared:
            return self.work
        folder = self.work / str(self.settings.get("id", "catalog"))
        with reporting_system_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def session(self, id: str) -> StoredSession:
        """A session by its id, the start or end of it, or ``last``.

        Raises:
            StoreError: there is none. UsageError: several start so.
        """
        from twinloop.store.queries import resolve_session

        catalog = self.catalog
        try:
            session = resolve_session(catalog, id)
        except StoreError:  # perhaps it was taken in since the catalog was last brought up to date
            catalog.sync()
            session = resolve_session(catalog, id)
        manifest = self.manifests.latest(session)
        if manifest is None:
            raise StoreError(f"the session {session} has no manifest", fix="run `twinloop store fsck`")
        return self.read_manifest(manifest)

    def read_manifest(self, manifest: Manifest) -> StoredSession:
        """A revision of a session as a recording, with the edits of its episodes applied."""
        from twinloop.store.stored import StoredSession

        with self.catalog.reading() as connection:
            entries = self.catalog.entries(connection, [episode.id for episode in manifest.episodes])
        episodes = tuple(apply_edits(episode, entries) for episode in manifest.episodes)
        digests = {artefact.key: artefact.sha256 for artefact in manifest.artefacts()}
        return StoredSession(manifest, episodes, self.objects, Places(self.objects, digests=digests))

    def edit_episodes(
        self,
        episodes: Sequence[str],
        *,
        outcome: Outcome | None = None,
        instruction: str | None = None,
        exclude: str | None = None,
        include: bool = False,
    ) -> tuple[Entry, ...]:
        """Say something of episodes (by full id); journal entries that `undo` takes back."""
        data = edit_data(outcome=outcome, instruction=instruction, exclude=exclude, include=include)
        if not data:
            raise UsageError("nothing to set", expected="--outcome, --instruction, --exclude or --include")
        entries = self.journal.append(EPISODE, episodes, data)
        self.catalog.sync()
        return entries

    def undo(self, command: str) -> tuple[Entry, ...]:
        """Take back all entries of a command (by the command's id, or one entry's)."""
        entries = self.journal.append(UNDO, [command], {})
        self.catalog.sync()
        return entries


def _settings_of_new(objects: Objects, catalog: str | None) -> str:
    """What `store.toml` says of a new store; its catalog is made, so that a wrong URL is told now."""
    id = new_ulid()
    if catalog is None:
        return _TEMPLATE % (id, _NO_CATALOG)
    from twinloop.store.catalog.database import Database
    from twinloop.store.catalog.place import catalog_schema

    Database(catalog, catalog_schema({"id": id}, objects)).prepare()
    return _TEMPLATE % (id, f"catalog = {json.dumps(catalog)}")


def _is_begun(path: Path) -> bool:
    """Whether it is all that a store whose making was interrupted, as by a full disk, left in its folder."""
    return (
        path.name == STAGING and path.is_dir() and all(file.name.startswith("tmp-") for file in path.iterdir())
    )


def _make_folder(root: Path) -> None:
    """The folder of a new store.

    Raises:
        UsageError: it holds something. StoreError: the system refuses.
    """
    if root.exists() and not root.is_dir():
        raise UsageError("there is a file of that name", where=str(root), expected="a folder, or nothing yet")
    with reporting_system_errors(root):
        if root.is_dir() and not all(map(_is_begun, root.iterdir())):
            raise UsageError(
                "the folder is not empty",
                where=str(root),
                expected="a new or empty folder: everything in a store is twinloop's",
                fix=f"twinloop init {root / 'store'}",
            )
        root.mkdir(parents=True, exist_ok=True)
