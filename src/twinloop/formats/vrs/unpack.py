"""Compressed payloads, with the sizes that they declare held against the bytes that are there."""

from __future__ import annotations

from twinloop.formats.vrs.container import DamagedError

LZ4, ZSTD = 1, 2
#: The most that one byte can become: a block of zstd is at most 128 kB for 4 bytes, lz4's runs give 255.
_MOST = {LZ4: 255, ZSTD: 32768}


def unpack(data: bytes, size: int, compression: int) -> bytes:
    """The `size` bytes that `data` holds compressed.

    Raises:
        DamagedError: it does not unpack, or to another size.
    """
    if compression not in _MOST:
        raise DamagedError(f"the compression {compression} is not known", expected="0 none, 1 lz4, 2 zstd")
    if size > len(data) * _MOST[compression]:
        raise DamagedError(f"{size} bytes are declared, {len(data)} compressed bytes cannot hold them")
    if compression == ZSTD:
        return unpack_zstd(data, size)
    import lz4.frame

    try:
        unpacked: bytes = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size)
    except (RuntimeError, EOFError, ValueError) as error:
        raise DamagedError(f"it does not unpack: {error}") from None
    if len(unpacked) != size:
        raise DamagedError(f"it unpacks to {len(unpacked)} bytes, {size} are declared")
    return unpacked


def unpack_zstd(data: bytes, size: int, *, trailing: bool = False) -> bytes:
    """As `unpack`; `trailing`: bytes that follow the frame are not looked at."""
    import zstandard

    if size > len(data) * _MOST[ZSTD]:
        raise DamagedError(f"{size} bytes are declared, {len(data)} compressed bytes cannot hold them")
    try:
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=False) as reader:
            unpacked = reader.read(size)
            more = b"" if trailing else reader.read(1)
    except (zstandard.ZstdError, MemoryError) as error:
        raise DamagedError(f"it does not unpack: {error}") from None
    if len(unpacked) != size or more:
        raise DamagedError(
            f"it unpacks to {'more than ' if more else ''}{len(unpacked)} bytes, {size} are declared"
        )
    return unpacked
