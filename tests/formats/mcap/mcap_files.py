"""Small MCAP files of every shape, with what the `mcap` package reads of them as JSON.

``python tests/formats/mcap/mcap_files.py`` writes the golden pairs in the folder beside it.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from mcap.reader import NonSeekingReader
from mcap.writer import CompressionType, IndexType, Writer

START_NS = 1_700_000_000_000_000_000
GOLDEN = Path(__file__).parent / "golden"

_BARE: dict[str, Any] = {
    "index_types": IndexType.NONE,
    "repeat_channels": False,
    "repeat_schemas": False,
    "use_statistics": False,
    "use_summary_offsets": False,
}
#: How the `mcap` writer is asked to write, by the name of the shape.
SHAPES: dict[str, dict[str, Any]] = {
    "zstd": {},
    "lz4": {"compression": CompressionType.LZ4},
    "plain": {"compression": CompressionType.NONE},
    "no_crc": {"enable_crcs": False},
    "no_statistics": {"use_statistics": False},
    "no_repeats": {"repeat_channels": False, "repeat_schemas": False},
    "no_message_index": {"index_types": IndexType.CHUNK | IndexType.ATTACHMENT | IndexType.METADATA},
    "no_chunk_index": {"index_types": IndexType.MESSAGE | IndexType.ATTACHMENT | IndexType.METADATA},
    "no_attachment_index": {"index_types": IndexType.CHUNK | IndexType.MESSAGE},
    "bare": _BARE,
    "unchunked": {"use_chunking": False},
    "unchunked_bare": {"use_chunking": False, **_BARE},
    "one_chunk": {"chunk_size": 1 << 30},
    "one_lz4_chunk": {"chunk_size": 1 << 30, "compression": CompressionType.LZ4},
    "one_plain_chunk": {"chunk_size": 1 << 30, "compression": CompressionType.NONE},
}


def write(shape: str = "zstd", *, messages: int = 400, fill: Callable[[Writer], None] | None = None) -> bytes:
    """A file of a shape; `fill` writes its messages, by default those of `fill_mixed`."""
    file = BytesIO()
    writer = Writer(file, **{"chunk_size": 2000, **SHAPES[shape]})
    writer.start("profile", "library")
    if fill is None:
        fill_mixed(writer, messages)
    else:
        fill(writer)
    writer.finish()
    return file.getvalue()


def fill_mixed(writer: Writer, messages: int) -> None:
    """JSON, raw and schemaless channels in turn, one without messages, an attachment, metadata."""
    rng = np.random.default_rng(7)
    schema = json.dumps({"type": "object", "properties": {"v": {"type": "number"}}}).encode()
    json_schema = writer.register_schema("own.Value", "jsonschema", schema)
    raw_schema = writer.register_schema("own.Raw", "flatbuffer", b"\x01\x02")
    value = writer.register_channel("/value", "json", json_schema, {"rate_hz": "50"})
    raw = writer.register_channel("/raw", "flatbuffer", raw_schema)
    loose = writer.register_channel("/loose", "json", 0)
    writer.register_channel("/silent", "json", json_schema)
    for i in range(messages):
        log_ns = START_NS + i * 1_000_000
        if i % 4 == 3:
            writer.add_message(raw, log_ns, rng.bytes(int(rng.integers(0, 90))), log_ns - 9, i)
        elif i % 4 == 2:
            writer.add_message(
                loose, log_ns, json.dumps({"n": {"i": i}, "s": f"s{i % 5}"}).encode(), log_ns - 5, i
            )
        else:
            writer.add_message(value, log_ns, json.dumps({"v": i / 2}).encode(), log_ns - 7, i)
        if i == messages // 2:
            writer.add_attachment(START_NS, START_NS + 5, "notes.txt", "text/plain", b"as carried \x00\xff")
            writer.add_metadata("operator", {"name": "A", "shift": "2"})
    writer.add_metadata("operator", {"name": "B"})


def expected(data: bytes) -> dict[str, Any]:
    """What the `mcap` package reads, record by record: ``{topic: [message...]}``, attachments, metadata."""
    topics: dict[str, list[dict[str, Any]]] = {}
    reader = NonSeekingReader(BytesIO(data))
    for _, channel, message in reader.iter_messages(log_time_order=False):
        topics.setdefault(channel.topic, []).append(
            {
                "log_ns": message.log_time,
                "publish_ns": message.publish_time,
                "seq": message.sequence,
                "data": base64.b64encode(message.data).decode(),
            }
        )
    attachments = [
        {"name": a.name, "media_type": a.media_type, "data": base64.b64encode(a.data).decode()}
        for a in NonSeekingReader(BytesIO(data)).iter_attachments()
    ]
    metadata = [[m.name, m.metadata] for m in NonSeekingReader(BytesIO(data)).iter_metadata()]
    return {"topics": topics, "attachments": attachments, "metadata": metadata}


def records(data: bytes, start: int = 8) -> list[tuple[int, int, int]]:
    """(opcode, byte, whole length) of the top-level records, the closing magic left out."""
    found, at = [], start
    while at + 9 <= len(data) - 8:
        opcode, length = struct.unpack_from("<BQ", data, at)
        found.append((opcode, at, 9 + length))
        at += 9 + length
    return found


def patched(data: bytes, at: int, new: bytes, *, seal: bool = True) -> bytes:
    """The file with other bytes at `at`; `seal` makes the summary's CRC right again."""
    out = bytearray(data)
    out[at : at + len(new)] = new
    if seal:
        footer = len(out) - 37
        summary_start = int.from_bytes(out[footer + 9 : footer + 17], "little")
        crc = zlib.crc32(bytes(out[summary_start : footer + 25]))
        out[footer + 25 : footer + 29] = crc.to_bytes(4, "little")
    return bytes(out)


def main() -> None:
    """Write the golden pairs."""
    GOLDEN.mkdir(exist_ok=True)
    for shape in SHAPES:
        data = write(shape, messages=40)
        (GOLDEN / f"{shape}.mcap").write_bytes(data)
        text = json.dumps(expected(data), indent=1, sort_keys=True)
        (GOLDEN / f"{shape}.expected.json").write_text(text + "\n", encoding="utf-8")
        sys.stdout.write(f"{shape}: {len(data)} bytes\n")


if __name__ == "__main__":
    main()
