"""The display order of video packets that come in decode order (B-frames), found by decoding them once.

Only streams whose packets say that they are reordered are looked at; recorders of robots seldom write them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.timeline import timeline_ns
from twinloop.store.decoders import open_decoder
from twinloop.store.media import MP4_BASE, MediaError, Ticks
from twinloop.store.packets import VIDEO_CODECS, read_access

if TYPE_CHECKING:
    from collections.abc import Iterator

    import av
    from numpy.typing import NDArray

    from twinloop.core.recording import Recording


class ReorderedError(MediaError):
    """A stream's packets come in another order than they are shown, which must be known to mux them."""


@dataclass(frozen=True, slots=True)
class DisplayOrder:
    """For each packet of a stream, in decode order, its pts and dts (N,) int64 ticks of `MP4_BASE`."""

    pts: NDArray[np.int64]
    dts: NDArray[np.int64]


def find_order(recording: Recording, stream: str) -> DisplayOrder:
    """The order of a stream's packets; in memory are their numbers and times alone."""
    times: list[NDArray[np.int64]] = []
    shown = np.array(list(_shown(_packets(recording, stream, times))), np.int64)
    all_times = np.concatenate(times) if times else np.empty(0, np.int64)
    return order_of(shown, np.sort(all_times))


def order_of(shown: NDArray[np.int64], times_ns: NDArray[np.int64]) -> DisplayOrder:
    """Pts and dts of N packets, of which `shown` (M,) come out of the decoder in this order.

    A packet that gives no image is placed right after the one before it. `times_ns` (N,), ascending, are
    given to the images in the order of their display.
    """
    count = len(times_ns)
    place = np.full(count, -1.0)
    place[shown] = np.arange(len(shown))
    for packet in np.flatnonzero(place < 0):
        place[packet] = place[packet - 1] + 1e-6 if packet else -1.0
    rank = np.empty(count, np.int64)
    rank[np.argsort(place, kind="stable")] = np.arange(count)
    ticks = Ticks(MP4_BASE).of(times_ns)
    delay = int((np.arange(count) - rank).max(initial=0))
    step = int(ticks[1] - ticks[0]) if count > 1 else 1
    before = ticks[:1] - step * np.arange(delay, 0, -1)
    return DisplayOrder(ticks[rank], np.concatenate([before, ticks])[:count])


def _packets(
    recording: Recording, stream: str, times: list[NDArray[np.int64]]
) -> Iterator[tuple[int, str, bytes]]:
    """(number, codec, data) of all packets; their times are added to `times`."""
    number = 0
    for batch in recording.scan([stream]):
        times.append(timeline_ns(recording.streams[stream], batch.columns))
        names = batch.columns.column("encoding").to_pylist()
        for name, data in zip(names, batch.payload or (), strict=True):
            yield number, VIDEO_CODECS.get((name or "").lower(), ""), bytes(data)
            number += 1


def _shown(packets: Iterator[tuple[int, str, bytes]]) -> Iterator[int]:
    """The numbers of packets in the order in which their images are shown."""
    import av

    decoder: av.VideoCodecContext | None = None
    decoded = ""
    for number, codec, data in packets:
        if not codec:
            continue
        if decoder is None or decoded != codec:
            if decoder is not None:
                yield from _decode(decoder, None)
            decoder, decoded = open_decoder(codec), codec
        packet = av.Packet(read_access(codec, data).data)
        packet.pts = packet.dts = number
        yield from _decode(decoder, packet)
    if decoder is not None:
        yield from _decode(decoder, None)


def _decode(decoder: av.VideoCodecContext, packet: av.Packet | None) -> Iterator[int]:
    import av

    try:
        pictures = decoder.decode(packet)
    except av.FFmpegError:
        return
    yield from (picture.pts for picture in pictures if picture.pts is not None)
