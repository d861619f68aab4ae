"""What is damaged in a store, mended: from raw, from where it still lies, or from a mirror."""

from twinloop.store.mending.mend import Act, Repair, repair

__all__ = ["Act", "Repair", "repair"]
