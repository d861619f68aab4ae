"""The sizes at which LeRobot starts a new file, and one of ours."""

from __future__ import annotations

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


def place_in(pattern: str, chunk: int, file: int, key: str = "") -> str:
    """The path of the file `file` in the folder `chunk`, by the pattern of v3.0 or of v2.1, where each
    episode is a file."""
    return pattern.format(
        video_key=key,
        chunk_index=chunk,
        file_index=file,
        episode_chunk=chunk,
        episode_index=chunk * CHUNKS_SIZE + file,
    )
