"""Readers of recordings: one file or folder a format, found by content."""
