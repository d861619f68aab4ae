"""Erasure: the right of a person to have what was recorded of them gone, from every copy."""
