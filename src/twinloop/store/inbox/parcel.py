"""What a sender lays into a store's inbox, and the receipt that it gets.

``inbox/parts/<sha256>/<offset>-<size>``    bytes of a file, under the hash of the whole file
``inbox/parcels/<host>/<name>-<hash>.json``  the envelope: which files make up a recording; laid down last
``receipts/<hash>.json``                    what the store keeps of it, and where

All of them are created once and never changed. Parts and envelope go once the receipt is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError
from twinloop.store.blobs import SourceFile, blob_key, recording_hash
from twinloop.store.objects import encode_name
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinloop.store.objects import Objects
    from twinloop.store.outcome import Outcome

PARTS, PARCELS, RECEIPTS = "inbox/parts", "inbox/parcels", "receipts"
FORMAT = 1
_MOST_ENVELOPE_BYTES = 256 << 20
_HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Companion:
    """A small file that says something of a recording; `name` is relative to the spool."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Parcel:
    """The envelope of a recording.

    Attributes:
        hash: of the recording (`blobs.recording_hash` of `files`). name: of its file or folder, relative to
            the spool. folder: whether it is a folder.
        files: named relative to the folder (the file's own name for a single file).
        companions: session.toml, mapping files and what they name, whole.
        host, sent_at: who sent it, when. urgency, why: see `push.urgency`.
    """

    hash: str
    name: str
    folder: bool
    files: tuple[SourceFile, ...]
    companions: tuple[Companion, ...] = ()
    host: str = ""
    sent_at: str = ""
    urgency: int = 0
    why: str = ""
    format: int = FORMAT

    @property
    def key(self) -> str:
        """Where the envelope lies."""
        name = encode_name(self.name.replace("/", "~"))[:150].rstrip("%")
        return f"{PARCELS}/{encode_name(self.host)}/{name}-{self.hash[:_HASH_DIGITS]}.json"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the store says of a parcel that it took in.

    Attributes:
        hash: of the parcel. kept: SHA-256 of the files whose bytes the store holds.
        session: where the recording is. quarantine: where the reason is, if it could not be read, or not whole.
        refused: why nothing of it was kept; empty if it was.
    """

    hash: str
    kept: tuple[str, ...] = ()
    session: str | None = None
    quarantine: str | None = None
    refused: str = ""
    at: str = field(default_factory=now)
    by: str = field(default_factory=writer_name)


def receipt_key(hash: str) -> str:
    """Where the receipt of a parcel lies."""
    return f"{RECEIPTS}/{hash}.json"


def read_receipt(objects: Objects, hash: str) -> Receipt | None:
    """The receipt of a parcel; None if there is none, or none that can be read."""
    key = receipt_key(hash)
    if not objects.exists(key):
        return None
    try:
        receipt = msgspec.json.decode(objects.get(key), type=Receipt)
    except msgspec.MsgspecError:
        return None
    return receipt if receipt.hash == hash else None


def write_receipt(objects: Objects, parcel: Parcel, outcome: Outcome) -> Receipt:
    """Put on record which files of a parcel the store holds, now that its outcome is known."""
    kept = tuple(file.sha256 for file in parcel.files if _is_held(objects, file))
    receipt = Receipt(parcel.hash, kept, outcome.session, outcome.quarantine)
    objects.put(receipt_key(parcel.hash), _encode(receipt))
    return receipt


def refuse_parcel(objects: Objects, parcel: Parcel, why: str) -> None:
    """Put on record that the store does not keep a parcel. Its sender keeps it."""
    objects.put(receipt_key(parcel.hash), _encode(Receipt(parcel.hash, refused=why)))


def _is_held(objects: Objects, file: SourceFile) -> bool:
    key = blob_key(file.sha256)
    return objects.exists(key) and objects.size(key) == file.size


def lay_down(objects: Objects, parcel: Parcel) -> bool:
    """Put the envelope into the inbox: from now on the parcel is the store's to take in."""
    return objects.put(parcel.key, _encode(parcel))


def parcel_keys(objects: Objects) -> Iterator[tuple[str, int]]:
    """The envelopes in the inbox, with their sizes."""
    return ((key, size) for key, size in objects.listing(PARCELS) if key.endswith(".json"))


def read_parcel(objects: Objects, key: str) -> Parcel:
    """An envelope.

    Raises:
        StoreError: it is not there, damaged, or names files that would lie outside of their folder.
    """
    if objects.size(key) > _MOST_ENVELOPE_BYTES:
        raise StoreError("an envelope is too large to be one", where=key)
    try:
        parcel = msgspec.json.decode(objects.get(key), type=Parcel)
    except msgspec.MsgspecError as error:
        raise StoreError(f"an envelope is damaged: {error}", where=key) from None
    if parcel.format > FORMAT:
        raise StoreError(f"an envelope has format {parcel.format}", where=key, fix="update twinloop")
    for name in (*(file.name for file in parcel.files), *(file.name for file in parcel.companions)):
        if not _stays_inside(name):
            raise StoreError(f"an envelope names {name!r}, which no spool can hold", where=key)
    if any(not is_hash(file.sha256) or file.size < 0 for file in parcel.files):
        raise StoreError("an envelope names files without a hash or a size", where=key)
    if not parcel.files or not _stays_inside(parcel.name):
        raise StoreError("an envelope names no recording", where=key)
    if parcel.hash != recording_hash(parcel.files):
        raise StoreError("an envelope's hash is not that of its files", where=key)
    return parcel


def is_hash(text: str) -> bool:
    """Whether a text is a SHA-256 in hex digits."""
    return len(text) == 64 and all(sign in "0123456789abcdef" for sign in text)


def _stays_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def part_key(sha256: str, offset: int, size: int) -> str:
    """Where some bytes of a file lie."""
    return f"{PARTS}/{sha256}/{offset:015}-{size}"


def parts_of(objects: Objects, sha256: str) -> list[tuple[int, int]]:
    """Offset and size of each part of a file that is there, in order."""
    found = []
    for name in objects.children(f"{PARTS}/{sha256}"):
        offset, _, size = name.partition("-")
        if offset.isdecimal() and size.isdecimal():
            found.append((int(offset), int(size)))
    return sorted(found)


def reach(parts: list[tuple[int, int]]) -> int:
    """How many bytes from the start are there without a gap."""
    end = 0
    for offset, size in parts:
        if offset > end:
            break
        end = max(end, offset + size)
    return end


def clear(objects: Objects, parcel: Parcel) -> None:
    """Take a parcel out of the inbox: its parts first, so that its envelope tells of any that are left."""
    for file in parcel.files:
        clear_parts(objects, file.sha256)
    objects.delete(parcel.key)


def clear_parts(objects: Objects, sha256: str) -> None:
    """Take the parts of a file out of the inbox."""
    for offset, size in parts_of(objects, sha256):
        objects.delete(part_key(sha256, offset, size))


def _encode(document: Parcel | Receipt) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
