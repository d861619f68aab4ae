"""How one camera gets into the rows of one episode: remuxed, images untouched, or re-encoded, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deliver.align import Align, nearest_to, pick
from twinloop.deliver.lerobot.avcc import ParameterSets
from twinloop.deliver.lerobot.limits import LONGEST_FILE_S
from twinloop.deliver.pictures import ticks_in
from twinloop.deliver.rows import fits_rate, grid_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from twinloop.deliver.images import ImageTable
    from twinloop.deliver.rows import RowSpan
    from twinloop.formats.video.probe import PacketIndex

#: What LeRobot's readers take without a second thought.
REMUX_CODECS = ("h264", "hevc", "av1")


class Why(StrEnum):
    """Why a camera's images are re-encoded."""

    CODEC = "codec"
    PIX_FMT = "pixel format"
    MJPEG = "mjpeg"
    DEPTH = "depth"
    B_FRAMES = "b-frames"
    RATE = "rate"
    GAPS_KEPT = "gaps kept"
    DROPPED = "dropped images"
    DUPLICATED = "duplicated images"
    SHIFTED = "off its row"
    FUTURE = "after its row"
    PACKETS = "packets"
    NO_KEYFRAME = "no keyframe"
    PARAMETERS = "parameter sets"
    LENGTH = "length"
    ASKED = "asked for"


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive packets [first, stop) of one video file, in decode order (which is display order)."""

    index: PacketIndex
    first: int
    stop: int

    @property
    def bytes(self) -> int:
        """Bytes of its packets."""
        return int(self.index.size[self.first : self.stop].sum())


@dataclass(frozen=True, slots=True)
class CameraPlan:
    """One camera in one episode of the dataset.

    Attributes:
        images: (R,) int64, the place in the image table that each row shows; -1 where none is there yet.
        reasons: why it is re-encoded, each with its number; empty: it is remuxed.
        runs: the packets to remux, leading images included.
        lead: images from the keyframe before the cut that stay in the file unreferenced.
        head: rows before the first keyframe that are re-encoded, where no lead is to stay; the rest is remuxed.
        gop: the longest run of images from one keyframe to the next.
        dropped, duplicated: images of the span that no row shows; rows that show the image before again.
        grid_error_ns: largest distance of an image's true time from its row's time on the grid.
        after_ns, before_ns: how far an image lies after, before its row at most (0 or more).
    """

    images: NDArray[np.int64]
    reasons: dict[Why, str]
    runs: tuple[Run, ...] = ()
    lead: int = 0
    head: int = 0
    gop: int = 0
    dropped: int = 0
    duplicated: int = 0
    grid_error_ns: int = 0
    after_ns: int = 0
    before_ns: int = 0

    @property
    def remuxed(self) -> bool:
        """Whether its packets are copied."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class CameraRules:
    """What the user allows of a camera.

    Attributes:
        fps: rows a second. align: which image a re-encoded row shows.
        keep_mjpeg: MJPEG may be remuxed. causal: no image may lie after its row, not even by the half
            period that remuxing allows. keep_lead: whether images before a cut off a keyframe may stay in
            the file. reencode: never remux.
    """

    fps: int
    align: Align = Align.LATEST
    keep_mjpeg: bool = False
    causal: bool = False
    keep_lead: bool = True
    reencode: bool = False


@dataclass(slots=True)
class _Case:
    """The one-to-one reading of a camera against the rows, and what speaks against it."""

    first: int
    reasons: dict[Why, str] = field(default_factory=dict)


def plan_camera(
    table: ImageTable,
    span: RowSpan,
    rules: CameraRules,
    packets: Callable[[str], PacketIndex],
    depth: bool = False,
) -> CameraPlan:
    """Decide how a camera gets into the rows of `span`.

    It is remuxed when (1) its codec is h264, hevc or av1, yuv420p, without B-frames; (2) row k is its k-th
    image, one to one, each within half a period of its row's true time; (3) the cut starts on a keyframe,
    or the images from the keyframe before stay in the file as a lead, or those up to the next keyframe can
    be re-encoded alone (`head`); (4) its parameter sets are one (towards the file they go into, the writer
    decides). Otherwise each row shows the image that `rules.align` names.
    """
    rows = span.row_ns
    case = _one_to_one(table, span, rules)
    _judge_files(case.reasons, table, slice(case.first, case.first + len(rows)), rules, packets, depth)
    copied = _copied(case, table, len(rows), rules, packets) if not case.reasons else _Copied()
    if case.reasons:
        images = pick(table.times_ns, rows, rules.align)
        return _measured(table, span, rules.fps, images, case.reasons)
    images = np.arange(case.first, case.first + len(rows))
    return _measured(table, span, rules.fps, images, {}, copied)


def _one_to_one(table: ImageTable, span: RowSpan, rules: CameraRules) -> _Case:
    rows, fps = span.row_ns, rules.fps
    if not len(table):
        return _Case(0, {Why.DROPPED: "the camera has no image"})
    first = int(nearest_to(table.times_ns, rows[:1])[0])
    case = _Case(first)
    if rules.reencode:
        case.reasons[Why.ASKED] = "re-encoding was asked for"
    if span.filled:
        case.reasons[Why.GAPS_KEPT] = f"{span.filled} rows fill gaps"
    if span.resampled:
        case.reasons[Why.RATE] = span.resampled
    taken = table.times_ns[first : first + len(rows)]
    if not fits_rate(taken, fps):
        case.reasons.setdefault(Why.RATE, f"the camera's rate is over 1 % off the rows' {fps}")
    off = taken - rows[: len(taken)]
    if len(taken) < len(rows) or np.abs(off).max() > 0.5e9 / fps:
        steps = np.diff(nearest_to(table.times_ns, rows))
        if (skipped := int(np.maximum(steps - 1, 0).sum())) > 0:
            case.reasons[Why.DROPPED] = f"{skipped} images lie nearest to no row"
        if (repeated := int((steps == 0).sum())) > 0:
            case.reasons[Why.DUPLICATED] = f"{repeated} rows have no image of their own"
        if not (skipped or repeated):
            case.reasons[Why.SHIFTED] = (
                f"an image lies {np.abs(off).max() / 1e6:.1f} ms from its row, over half a period"
            )
    if rules.causal and off.max() > 0:
        case.reasons[Why.FUTURE] = f"an image lies {off.max() / 1e6:.1f} ms after its row"
    return case


def _judge_files(
    reasons: dict[Why, str],
    table: ImageTable,
    places: slice,
    rules: CameraRules,
    packets: Callable[[str], PacketIndex],
    depth: bool,
) -> None:
    """Conditions on codec, pixel format and order of the files that hold the images."""
    if depth:
        reasons[Why.DEPTH] = "depth is stored in LeRobot's 12-bit form"
        return
    for number in np.unique(table.segment[places]):
        segment = table.stream.segments[int(number)]
        if segment.codec == "mjpeg":
            if not rules.keep_mjpeg:
                reasons[Why.MJPEG] = "MJPEG is re-encoded unless --keep-mjpeg"
            continue
        if segment.codec not in REMUX_CODECS:
            reasons[Why.CODEC] = f"{segment.codec} is none of {', '.join(REMUX_CODECS)}"
            continue
        index = packets(segment.file)
        if index.pix_fmt != "yuv420p":
            reasons[Why.PIX_FMT] = f"{index.pix_fmt} is not yuv420p"
        if index.has_b_frames:
            reasons[Why.B_FRAMES] = "images are stored in another order than shown"


@dataclass(frozen=True, slots=True)
class _Copied:
    """What of a camera's packets is copied."""

    runs: tuple[Run, ...] = ()
    lead: int = 0
    head: int = 0

    @property
    def gop(self) -> int:
        return max((_longest_gop(r.index.keyframe[r.first : r.stop]) for r in self.runs), default=0)


def _copied(
    case: _Case,
    table: ImageTable,
    rows: int,
    rules: CameraRules,
    packets: Callable[[str], PacketIndex],
) -> _Copied:
    """The packets of the images one to one, with what precedes the first keyframe.

    Adds to the case's reasons where packets and images do not match, or a cut cannot start.
    """
    stop = case.first + rows
    turns = np.nonzero(np.diff(table.segment[case.first : stop]))[0] + 1
    runs: list[Run] = []
    lead = 0
    for number, places in enumerate(np.split(np.arange(case.first, stop), turns)):
        index = packets(table.segment_of(int(places[0])).file)
        wanted = ticks_in(index, table.segment_of(int(places[0])), table.pts[places])
        positions = np.searchsorted(index.pts, wanted)
        if not (positions < len(index)).all() or (index.pts[positions] != wanted).any():
            case.reasons[Why.PACKETS] = "the file lacks packets of images that the table names"
            break
        if (np.diff(positions) != 1).any():
            case.reasons[Why.DROPPED] = "the file holds images between them that belong to no row"
            break
        keyframes = np.nonzero(index.keyframe[: positions[0] + 1])[0]
        if not len(keyframes):
            case.reasons[Why.NO_KEYFRAME] = "no keyframe stands before the cut"
            break
        start = int(keyframes[-1])
        if number and start != positions[0]:
            case.reasons[Why.NO_KEYFRAME] = "the episode goes on in another file, off a keyframe"
            break
        if number == 0:
            lead = int(positions[0]) - start
        if runs and index.extradata != runs[0].index.extradata:
            case.reasons[Why.PARAMETERS] = "the parameter sets change within the episode"
            break
        runs.append(Run(index, start, int(positions[-1]) + 1))
    if not lead or case.reasons:
        return _Copied(tuple(runs))
    why = _against_lead(lead, rows, rules)
    return _without_lead(case, runs, lead, why) if why else _Copied(tuple(runs), lead)


def _against_lead(lead: int, rows: int, rules: CameraRules) -> tuple[Why, str] | None:
    if lead + rows > LONGEST_FILE_S * rules.fps:
        return Why.LENGTH, (
            f"off a keyframe and longer than {LONGEST_FILE_S} s, where LeRobot's 32-bit times no longer "
            "tell images apart"
        )
    if not rules.keep_lead:
        return Why.NO_KEYFRAME, "the cut lies off a keyframe, and the images before it are not to stay"
    return None


def _without_lead(case: _Case, runs: list[Run], lead: int, why: tuple[Why, str]) -> _Copied:
    """The rows up to the next keyframe re-encoded, where parameter sets of our own fit in beside the
    source's: in H.264."""
    first = runs[0]
    cut = first.first + lead
    keyframes = np.nonzero(first.index.keyframe[cut : first.stop])[0]
    sets = ParameterSets.parse(first.index.extradata) if first.index.codec == "h264" else None
    even = first.index.width % 2 == first.index.height % 2 == 0
    if not len(keyframes) or sets is None or not sets.leaves_room or not even:
        case.reasons[why[0]] = why[1]
        return _Copied()
    head = int(keyframes[0])
    return _Copied((Run(first.index, cut + head, first.stop), *runs[1:]), head=head)


def _longest_gop(keyframe: NDArray[np.bool_]) -> int:
    starts = np.append(np.nonzero(keyframe)[0], len(keyframe))
    return int(np.diff(starts).max()) if len(starts) > 1 else len(keyframe)


def _measured(
    table: ImageTable,
    span: RowSpan,
    fps: int,
    images: NDArray[np.int64],
    reasons: dict[Why, str],
    copied: _Copied = _Copied(),
) -> CameraPlan:
    rows = span.row_ns
    shown = images[images >= 0]
    if not len(shown):
        return CameraPlan(images, reasons)
    true_ns = table.times_ns[shown]
    row_ns = rows[images >= 0]
    on_grid = grid_ns(int(rows[0]), len(rows), fps)[images >= 0]
    off = true_ns - row_ns
    return CameraPlan(
        images=images,
        reasons=reasons,
        runs=copied.runs,
        lead=copied.lead,
        head=copied.head,
        gop=copied.gop,
        dropped=int(shown[-1] - shown[0] + 1 - len(np.unique(shown))),
        duplicated=int((np.diff(shown) == 0).sum()),
        grid_error_ns=int(np.abs(true_ns - on_grid).max()),
        after_ns=max(int(off.max()), 0),
        before_ns=max(int(-off.min()), 0),
    )
