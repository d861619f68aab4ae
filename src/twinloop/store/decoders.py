"""Decoders for single packets, outside of any container."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import av

#: FFmpeg's own av1 decoder works with a graphics card only.
_NAMES = {"av1": "libdav1d"}


def open_decoder(codec: str, parameters: bytes = b"") -> av.VideoCodecContext:
    """A decoder of `codec` (FFmpeg's name) on one thread, given the packets' parameter sets."""
    import av

    context = cast("av.VideoCodecContext", av.CodecContext.create(_NAMES.get(codec, codec), "r"))
    context.thread_count = 1
    if parameters:
        context.extradata = parameters
    return context
