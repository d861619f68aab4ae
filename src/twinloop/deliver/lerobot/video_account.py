"""What happened to a camera's images on their way into LeRobot's video files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twinloop.deliver.account import CameraAccount

if TYPE_CHECKING:
    from twinloop.deliver.lerobot.camera import CameraPlan

#: Images from one keyframe to the next, from which on random access gets slow.
GOP_LIMIT = 10


@dataclass(slots=True)
class VideoAccount(CameraAccount):
    """Episodes remuxed and re-encoded, and what that made of the files."""

    remuxed: int = 0
    reencoded: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    longest_gop: int = 0
    lead_images: int = 0
    heads: int = 0
    largest_true_minus_grid_ms: float = 0.0

    def add(self, plan: CameraPlan, codec: str, broken: int, gop: int) -> None:
        """Count one episode."""
        self.remuxed += plan.remuxed
        self.reencoded += not plan.remuxed
        self.reasons.update(reason.value for reason in plan.reasons)
        self.codecs[codec] += 1
        self.longest_gop = max(self.longest_gop, gop)
        self.dropped += plan.dropped
        self.duplicated += plan.duplicated
        self.undecodable += broken
        self.lead_images += plan.lead
        self.heads += plan.head > 0
        self.largest_true_minus_grid_ms = max(self.largest_true_minus_grid_ms, plan.grid_error_ns / 1e6)
        self.largest_after_row_ms = max(self.largest_after_row_ms, plan.after_ns / 1e6)
        self.largest_before_row_ms = max(self.largest_before_row_ms, plan.before_ns / 1e6)

    def summary(self) -> str:
        """What was done, in a few words."""
        because = f" because of {self.because()}" if self.reasons else ""
        return f"{self.remuxed} remuxed, {self.reencoded} re-encoded{because}"

    def warnings(self, name: str) -> list[str]:
        """What follows from the numbers."""
        found = []
        if self.longest_gop > GOP_LIMIT:
            found.append(
                f"{name}: up to {self.longest_gop} images from one keyframe to the next (over "
                f"{GOP_LIMIT}): random access decodes them all and gets slow; --reencode makes groups of 2"
            )
        if len(self.codecs) > 1:
            found.append(
                f"{name}: more than one codec ({', '.join(sorted(self.codecs))}), each in files of its "
                "own; info.json names that of the first"
            )
        return found + CameraAccount.warnings(self, name)

    def cells(self) -> dict[str, str]:
        """Heading -> cell."""
        return {
            "remuxed": str(self.remuxed),
            "re-encoded": str(self.reencoded),
            "because of": self.because() or "-",
            "true - grid, at most": f"{self.largest_true_minus_grid_ms:.3f} ms",
            **CameraAccount.cells(self),
            "keyframe every": f"{self.longest_gop} images",
        }

    def remarks(self, name: str) -> list[str]:
        """Sentences below the table of cameras."""
        said = []
        if self.lead_images:
            said.append(
                f"{name}: {self.lead_images} images before cuts stay in the files, from the keyframe on that "
                "the first image of the episode needs. No row refers to them."
            )
        if self.heads:
            said.append(
                f"{name}: of {self.heads} remuxed episodes the images before the first keyframe are re-encoded."
            )
        return said

    def to_json(self) -> dict[str, object]:
        """The numbers, ready for JSON."""
        return {
            "remuxed_episodes": self.remuxed,
            "reencoded_episodes": self.reencoded,
            "reencoded_because": dict(self.reasons),
            "codecs": dict(self.codecs),
            "longest_gop": self.longest_gop,
            "unreferenced_lead_images": self.lead_images,
            "remuxed_but_for_the_first_group": self.heads,
            "largest_true_minus_grid_ms": self.largest_true_minus_grid_ms,
            **CameraAccount.to_json(self),
        }
