"""The reader of ROS 1 bags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import UnreadableError, Where

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions

_MAGIC = b"#ROSBAG V"


class RosBag1Reader:
    """ROS 1 bags: one file, or the folder of a split bag."""

    name = "rosbag1"
    title = "ROS 1 bag (.bag)"
    keeps = (
        "every message with its header's stamp and sequence number, the time of recording, caller and latching"
    )
    loses = "the order of messages of different topics inside one chunk; encrypted bags are refused"
    extra = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """A file that starts as a bag does, or a folder of the parts of one bag."""
        return head.startswith(_MAGIC) or bool(not head and _parts(path))

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002 (bags need none)
        """Open a bag, or the parts of a split bag as one recording.

        Raises:
            UnreadableError: nothing of it can be read.
        """
        from twinloop.core.recording import Problem, ReadNote
        from twinloop.formats.bag.joined import JoinedRecording
        from twinloop.formats.rosbag1.recording import RosBag1Recording

        if path.is_file():
            return RosBag1Recording(path)
        parts: list[Recording] = []
        notes: list[ReadNote] = []
        for file in _parts(path) or []:
            try:
                parts.append(RosBag1Recording(file))
            except UnreadableError as error:
                notes.append(ReadNote(Problem.CORRUPT, error.what, Where(file=str(file)), None))
        if not parts:
            raise UnreadableError("no part of the bag can be read", where=str(path))
        return JoinedRecording(path, self.name, parts, notes=notes)


def _parts(path: Path) -> list[Path] | None:
    """The files of the split bag that a folder holds; None if it holds none, or several bags."""
    from twinloop.formats.bag.joined import split_order

    try:
        if not path.is_dir():
            return None
        files = [f for f in path.iterdir() if ".bag" in f.name and f.is_file() and _is_bag(f)]
    except OSError:
        return None
    ordered = split_order(files)
    if ordered is None or (len(ordered) > 1 and not _follow_one_another(ordered)):
        return None
    return ordered


def _is_bag(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


#: Parts of one split bag follow one another within seconds; takes of one name do not.
_MOST_APART_NS = 10_000_000_000
_MOST_OVERLAP_NS = 1_000_000_000


def _follow_one_another(files: list[Path]) -> bool:
    from twinloop.formats.rosbag1.plan import span_ns

    last_end = None
    for file in files:
        span = span_ns(file)
        if span is None:
            last_end = None
            continue
        if last_end is not None and not -_MOST_OVERLAP_NS <= span[0] - last_end <= _MOST_APART_NS:
            return False
        last_end = span[1]
    return True


READER = RosBag1Reader()
