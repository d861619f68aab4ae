"""Pictures in files of their own as one stream: by reference, in bounded batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.core.errors import Where
from twinloop.core.kinds import Kind, Role
from twinloop.core.recording import Problem
from twinloop.core.stream import Payload, Stream
from twinloop.formats.arrow_columns import constant, words
from twinloop.formats.picture_header import PICTURE_HEAD, PictureHeader, picture_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from twinloop.formats.file_times import FileTimes
    from twinloop.formats.notes import Notes

_BATCH_BYTES = 16 << 20
_BATCH_IMAGES = 256
#: A larger file is no single picture.
_MOST_BYTES = 256 << 20


class ImageFiles:
    """Files of pictures (N) in the order of their samples."""

    def __init__(
        self,
        name: str,
        files: Sequence[Path],
        times: FileTimes,
        notes: Notes,
        *,
        frame_id: str = "",
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        self._files, self._times, self._notes, self._frame = files, times, notes, frame_id
        first = next((head for file in files if (head := _header(file)) is not None), None)
        said = (
            {"encoding": first.encoding, "width": str(first.width), "height": str(first.height)}
            if first
            else {}
        )
        self.stream = times.on(
            Stream(
                name=name,
                kind=Kind.DEPTH if first and first.deep_gray else Kind.IMAGE,
                role=Role.OBSERVATION,
                count=len(files),
                type_name=f"{first.encoding} {first.width}x{first.height}" if first else "",
                encoding=first.encoding if first else "",
                bytes=sum(_size(file) for file in files),
                attributes=said | dict(attributes or {}),
            )
        )

    def batches(self, payload: bool) -> Iterator[tuple[pa.RecordBatch, Payload | None]]:
        rows: list[int] = []
        headers: list[PictureHeader] = []
        pictures: list[bytes] = []
        waiting = 0
        for row, file in enumerate(self._files):
            content = self._read(file, row, payload)
            if content is None:
                continue
            header, picture = content
            if rows and (waiting + len(picture) > _BATCH_BYTES or len(rows) >= _BATCH_IMAGES):
                yield self._batch(rows, headers), _payload(pictures) if payload else None
                rows, headers, pictures, waiting = [], [], [], 0
            rows.append(row)
            headers.append(header)
            pictures.append(picture)
            waiting += len(picture)
        if rows:
            yield self._batch(rows, headers), _payload(pictures) if payload else None

    def _read(self, file: Path, row: int, whole: bool) -> tuple[PictureHeader, bytes] | None:
        """Header and bytes (none of them unless `whole`); None, with a note, where there is no picture."""
        where = Where(file=str(file), stream=self.stream.name, row=row)
        try:
            size = file.stat().st_size
            with file.open("rb") as opened:
                content = opened.read(size if whole and size <= _MOST_BYTES else PICTURE_HEAD)
        except OSError as error:
            self._notes.add(Problem.MISSING_FILE, f"the picture cannot be read: {error.strerror}", where, 1)
            return None
        header = picture_header(content)
        if header is None or size > _MOST_BYTES:
            self._notes.add(Problem.CORRUPT, "it is no picture, or its header is damaged", where, 1)
            return None
        return header, content if whole else b""

    def _batch(self, rows: list[int], headers: list[PictureHeader]) -> pa.RecordBatch:
        sizes = np.array([(header.width, header.height) for header in headers], np.int64)
        return pa.RecordBatch.from_pydict(
            self._times.columns(np.array(rows))
            | {
                "frame_id": constant(self._frame, len(rows)),
                "width": pa.array(np.minimum(sizes[:, 0], 2**31 - 1), pa.int32()),
                "height": pa.array(np.minimum(sizes[:, 1], 2**31 - 1), pa.int32()),
                "encoding": words([header.encoding for header in headers]),
                "file": pa.array([self._files[row].name for row in rows], pa.string()),
            }
        )


def _header(file: Path) -> PictureHeader | None:
    try:
        with file.open("rb") as opened:
            return picture_header(opened.read(PICTURE_HEAD))
    except OSError:
        return None


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _payload(pictures: list[bytes]) -> Payload:
    lengths = np.array([len(picture) for picture in pictures], np.int64)
    return Payload(np.frombuffer(b"".join(pictures), np.uint8), np.cumsum(lengths) - lengths, lengths)
