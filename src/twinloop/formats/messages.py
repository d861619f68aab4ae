"""The seam between containers (MCAP, bags) and encodings (ROS 1, CDR, protobuf, JSON).

A container finds messages; a decoder turns all messages of one stream that lie in one buffer into columns
at once. The hot path has no Python loop over messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from twinloop.core.kinds import Kind, StampSource
    from twinloop.core.stream import Payload


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a decoder makes of N messages.

    Attributes:
        columns: name -> Arrow array of M rows, `stamp_ns` among them where the type has a stamp; the
            names and types of the kind's layout (`core.kinds.LAYOUTS`).
        rows: (M,) int64, the message each row came from; None: row i is message i. (A TF message holds
            several transforms; a message that does not decode gives no row.)
        payload: bulk bytes of the rows, pointing into the buffer that was given (of JSON, a buffer of its own).
        bad: (B,) int64, messages that do not fit their definition. why: what was wrong with the first.
    """

    columns: dict[str, pa.Array]
    rows: NDArray[np.int64] | None = None
    payload: Payload | None = None
    bad: NDArray[np.int64] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Peek:
    """What the type and the first message of a stream tell before all is read."""

    kind: Kind
    stamp_source: StampSource
    units: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)  # image: encoding, width, height; joints: names


class MessageDecoder(Protocol):
    """Decodes all messages of one stream, buffer by buffer. May keep templates between calls."""

    def peek(self, first: bytes | None) -> Peek:
        """What is known from the type, and from the first message where one is given (None: there is none)."""

    def decode(
        self, buffer: NDArray[np.uint8], offset: NDArray[np.int64], length: NDArray[np.int64]
    ) -> Decoded:
        """Columns of the messages at `offset` (N,) of `length` (N,) bytes in `buffer` (B,) uint8."""
