"""A track: all samples of one topic before they are written, as arrays that defects can be planted in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Track:
    """N samples of one topic.

    Attributes:
        topic, type_name: e.g. ``/follower/joint_states``, ``sensor_msgs/msg/JointState``.
        rate_hz: nominal. frame_id: of its headers.
        true_s: (N,) when the sample was really taken, in seconds from the session's start.
        stamp_ns, log_ns: (N,) int64; what the header says (zero where the type has none), when it is logged.
        seq: (N,) the producer's count.
        values: name -> (N, ...) array; what each sample holds, as its encoder wants it.
        names: of joints, where there are any.
        attributes: what is the same for all samples: an image's ``format``, ``width``...
        pictures: for images: from the times (N,) [s] in ``values["content_s"]`` to the encoded pictures, one
            each and in order. A time that repeats the one before gives the very same picture.
    """

    topic: str
    type_name: str
    rate_hz: float
    true_s: NDArray[np.float64]
    stamp_ns: NDArray[np.int64]
    log_ns: NDArray[np.int64]
    seq: NDArray[np.int64]
    frame_id: str = ""
    values: dict[str, NDArray[np.generic]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)
    pictures: Callable[[NDArray[np.float64]], Iterator[bytes]] | None = None

    def __len__(self) -> int:
        return len(self.log_ns)

    def keep(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Track:
        """The track with only these rows, in this order."""
        return replace(
            self,
            true_s=self.true_s[rows],
            stamp_ns=self.stamp_ns[rows],
            log_ns=self.log_ns[rows],
            seq=self.seq[rows],
            values={name: array[rows] for name, array in self.values.items()},
        )

    def with_values(self, **values: NDArray[np.generic]) -> Track:
        """The track with some values replaced."""
        return replace(self, values={**self.values, **values})

    def stamped(self, stamp_ns: NDArray[np.int64]) -> Track:
        """The track with other stamps."""
        return replace(self, stamp_ns=stamp_ns)

    def described(
        self, attributes: dict[str, str], pictures: Callable[[NDArray[np.float64]], Iterator[bytes]]
    ) -> Track:
        """The track with its attributes and the source of its pictures."""
        return replace(self, attributes=attributes, pictures=pictures)
