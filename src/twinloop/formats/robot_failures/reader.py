"""The reader `robot-failures`: see the package's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions


class RobotFailuresReader:
    """Windows of force and torque with a class each."""

    name = "robot-failures"
    title = "Robot execution failures (UCI)"
    keeps = "every window as an episode with its class as outcome, forces and torques as they are"
    loses = "nothing; times within a window are a grid, and there are no others"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """A class, then fifteen rows of six whole numbers."""
        from twinloop.formats.robot_failures.windows import is_windows

        return is_windows(head)

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Read the windows.

        Raises:
            UnreadableError: there is no whole window.
        """
        from collections import Counter

        from twinloop.core.recording import EpisodeSpan
        from twinloop.formats.gathered import GatheredRecording
        from twinloop.formats.robot_failures.streams import labels, wrenches
        from twinloop.formats.robot_failures.windows import PERIOD_NS, SAMPLES, read_windows

        notes = Notes()
        classes, windows = read_windows(path, notes)
        length = SAMPLES * PERIOD_NS
        return GatheredRecording(
            path,
            self.name,
            files=(path,),
            sources=[wrenches(windows, path.stat().st_size), labels(classes)],
            episodes=tuple(
                EpisodeSpan(number, number * length, (number + 1) * length, outcome=word)
                for number, word in enumerate(classes)
            ),
            metadata={"windows": str(len(classes))}
            | {f"class/{word}": str(count) for word, count in sorted(Counter(classes).items())},
            notes=notes,
        )


READER = RobotFailuresReader()
