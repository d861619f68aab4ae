"""Peak memory and time with a 10 GB MCAP file: reading all of it, and `twinloop info`.

The file has 10,000 chunks of images and joints with true checksums and a full index. The images' bytes are
zeros that the file leaves out (a sparse file), so that it can be written in seconds; they are read, compared
with their checksums and handed out as any others. `info_s` is CPU seconds of the whole command, its start
included.
"""

from __future__ import annotations

import struct
import sys
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import ChildRun, Target, arguments, command, finish, in_child
from benchmarks.mcap_input import ARM, START_NS, Cdr, definition, joint_states

if TYPE_CHECKING:
    from mcap.records import ChunkIndex

SIZE, QUICK_SIZE = 10_000_000_000, 2_500_000_000
CHUNK_SIZE = 1_000_000
IMAGES, JOINTS = 20, 30  # messages a chunk
IMAGE_BYTES = (CHUNK_SIZE - 20_000) // IMAGES
TARGETS = {"peak_mb": Target(most=500), "info_s": Target(most=1)}


def write_sparse(path: Path, size: int) -> int:
    """A file of about `size` bytes; gives its number of messages."""
    from mcap.data_stream import RecordBuilder
    from mcap.records import Channel, Chunk, DataEnd, Footer, Header, MessageIndex, Schema, Statistics

    def record(*records: object) -> bytes:
        builder = RecordBuilder()
        for one in records:
            one.write(builder)  # type: ignore[attr-defined]
        return bytes(builder.end())

    image_type, joint_type = "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/JointState"
    described = [
        *(
            Schema(id=i, name=name, encoding="ros2msg", data=definition(name).encode())
            for i, name in ((1, image_type), (2, joint_type))
        ),
        Channel(id=1, topic="/camera", message_encoding="cdr", metadata={}, schema_id=1),
        Channel(id=2, topic="/arm", message_encoding="cdr", metadata={}, schema_id=2),
    ]
    joints = joint_states("/arm", ARM, 500, 1e9)
    indexes: list[ChunkIndex] = []
    with path.open("wb") as file:
        file.write(b"\x89MCAP0\r\n" + record(Header("ros2", "twinloop benchmarks"), *described))
        while file.tell() < size:
            content, solid, entries = _chunk_content(joints)
            first, last = entries[2][0][0], entries[2][-1][0]
            start = file.tell()
            chunk = Chunk(
                compression="",
                data=b"",
                message_end_time=last,
                message_start_time=first,
                uncompressed_crc=zlib.crc32(content),
                uncompressed_size=len(content),
            )
            head = bytearray(record(chunk))
            head[1:9] = struct.pack("<Q", len(head) - 9 + len(content))
            head[-8:] = struct.pack("<Q", len(content))
            file.write(head)
            data = file.tell()
            for at, after in solid:
                file.seek(data + at)
                file.write(content[at:after])
            file.seek(data + len(content))
            index = record(*(MessageIndex(channel, entries[channel]) for channel in (1, 2)))
            file.write(index)
            indexes.append(_chunk_index(chunk, start, len(head) + len(content), len(content), len(index)))
        file.write(record(DataEnd(0)))
        counts = {1: IMAGES * len(indexes), 2: JOINTS * len(indexes)}
        statistics = Statistics(
            attachment_count=0,
            channel_count=2,
            channel_message_counts=counts,
            chunk_count=len(indexes),
            message_count=sum(counts.values()),
            message_end_time=indexes[-1].message_end_time,
            message_start_time=indexes[0].message_start_time,
            metadata_count=0,
            schema_count=2,
        )
        summary_start = file.tell()
        summary = record(*described, *indexes, statistics)
        file.write(summary + record(Footer(summary_start, 0, 0)) + b"\x89MCAP0\r\n")
    return statistics.message_count


def _chunk_content(joints: object) -> tuple[bytearray, list[tuple[int, int]], dict[int, list[tuple[int, int]]]]:
    """Uncompressed records of a chunk, the spans of them that are not all zeros, and the index entries."""
    content = bytearray()
    solid: list[tuple[int, int]] = []
    entries: dict[int, list[tuple[int, int]]] = {1: [], 2: []}
    for i in range(JOINTS):
        _, log_ns, data = next(joints)  # type: ignore[call-overload]
        entries[2].append((log_ns, len(content)))
        start = len(content)
        content += struct.pack("<BQHIQQ", 5, 22 + len(data), 2, 0, log_ns, log_ns) + data
        solid.append((start, len(content)))
        if i < IMAGES:
            head = Cdr()
            head.header(log_ns, "camera")
            head.text("jpeg")
            head.u32(IMAGE_BYTES)
            entries[1].append((log_ns, len(content)))
            start = len(content)
            length = 22 + len(head.data) + IMAGE_BYTES
            content += struct.pack("<BQHIQQ", 5, length, 1, 0, log_ns, log_ns) + head.data
            solid.append((start, len(content)))
            content += bytes(IMAGE_BYTES)
    return content, solid, entries


def _chunk_index(chunk: object, start: int, length: int, size: int, index_length: int) -> ChunkIndex:
    from mcap.records import ChunkIndex

    first = start + length
    return ChunkIndex(
        chunk_length=length,
        chunk_start_offset=start,
        compression="",
        compressed_size=size,
        message_end_time=chunk.message_end_time,  # type: ignore[attr-defined]
        message_index_length=index_length,
        message_index_offsets={1: first, 2: first + 9 + 6 + 16 * IMAGES},
        message_start_time=chunk.message_start_time,  # type: ignore[attr-defined]
        uncompressed_size=size,
    )


def scan_all(path: Path) -> int:
    """Read every stream of a recording; gives the number of samples."""
    from twinloop.formats.reader import open_recording

    rows = 0
    with open_recording(path) as recording:
        for batch in recording.scan():
            rows += len(batch)
        assert not recording.notes, recording.notes
        assert min(stream.start_ns or 0 for stream in recording.streams.values()) >= START_NS
    return rows


def main() -> None:
    """Write the file, read it in a process of its own, ask for its info in another."""
    size = QUICK_SIZE if arguments(__doc__ or "").quick else SIZE
    with tempfile.TemporaryDirectory(prefix="twinloop-bench-") as folder:
        path = Path(folder) / "large.mcap"
        messages = write_sparse(path, size)
        scan = in_child(scan_all, path)
        assert scan.result == messages, (scan.result, messages)
        info = _info(path)
        print(f"{path.stat().st_size / 1e9:.1f} GB, {messages:,} messages")
    figures = {
        "peak_mb": max(scan.peak_mb, info.peak_mb),
        "info_s": info.cpu_s,
        "scan_peak_mb": scan.peak_mb,
        "scan_cpu_s": scan.cpu_s,
        "info_peak_mb": info.peak_mb,
        "info_wall_s": info.wall_s,
    }
    finish("memory", figures, TARGETS)


def _info(path: Path) -> ChildRun:
    """`twinloop info`, the second time: the first compiles and reads the programs from disk."""
    argv = [str(Path(sys.executable).parent / "twinloop"), "info", str(path)]
    command(argv)
    return command(argv)


if __name__ == "__main__":
    main()
