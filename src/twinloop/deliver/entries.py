"""The packets of a video file, with keyframes only where decoding can really begin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.bitstream import has_start_codes, is_entry
from twinloop.formats.video.probe import open_video, packet_index

if TYPE_CHECKING:
    from twinloop.formats.video.probe import PacketIndex


def entry_index(file: str) -> PacketIndex:
    """The packets of a file.

    Containers also mark recovery points as keyframes. The first keyframe after the file's beginning tells
    for all: where decoding cannot begin there, only the file's first image counts as one.

    Raises:
        UnreadableError: the file does not open.
    """
    index = packet_index(file)
    later = np.nonzero(index.keyframe[1:])[0] + 1
    if not len(later) or _is_entry(index, int(index.pts[later[0]])):
        return index
    first_only = np.zeros(len(index), bool)
    first_only[0] = index.keyframe[0]
    return replace(index, keyframe=first_only)


def _is_entry(index: PacketIndex, pts: int) -> bool:
    if index.codec not in ("h264", "hevc"):
        return True
    with open_video(index.header.file) as container:
        track = container.streams.video[0]
        container.seek(pts, stream=track)
        for packet in container.demux(track):
            if packet.pts == pts:
                return is_entry(index.codec, bytes(packet), has_start_codes(index.extradata))
    return False
