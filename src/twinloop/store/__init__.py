"""The store: raw bytes by hash, sessions by manifest, and a catalog that can be made anew."""
