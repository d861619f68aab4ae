"""The sizes at which LeRobot starts a new file, and one of ours."""

from __future__ import annotations

CODEBASE_VERSION = "v3.0"
#: Files in one chunk folder.
CHUNKS_SIZE = 1000
DATA_FILE_MB = 100
VIDEO_FILE_MB = 200
#: LeRobot compares image times as 32-bit floats to within 1e-4 s. From 1024 s on their steps are 1.2e-4 s,
#: so an image is no longer found for certain. Files end before that.
LONGEST_FILE_S = 1024


def next_file(chunk: int, file: int, chunks_size: int = CHUNKS_SIZE) -> tuple[int, int]:
    """The place after (chunk, file)."""
    return (chunk + 1, 0) if file == chunks_size - 1 else (chunk, file + 1)
