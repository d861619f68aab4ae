"""Whether a store is whole: manifests, artefacts, blobs, statements, erasures, and the catalog over them."""

from twinloop.store.fsck.check import check_store
from twinloop.store.fsck.trouble import Harm, Trouble

__all__ = ["Harm", "Trouble", "check_store"]
