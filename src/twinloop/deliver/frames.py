"""Images that stand by themselves: in which form rows get them, and one form from another."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from twinloop.core.errors import UnknownNameError
from twinloop.deliver.pictures import bytes_at, ticks_in
from twinloop.formats.video.pixels import to_pixels

if TYPE_CHECKING:
    import av
    from numpy.typing import NDArray

    from twinloop.deliver.features import FeatureSpec
    from twinloop.deliver.plan import EpisodePlan, Planner

#: The codecs whose packets are files of their own.
_OWN = {"mjpeg": "jpeg", "png": "png"}
#: JPEG's Huffman tables come near its start; AVI's MJPEG leaves them out, and decoders of files refuse it.
_HUFFMAN, _HEAD_BYTES = b"\xff\xc4", 4096
#: A sixth of the default's time for a tenth more bytes.
_PNG = {"compression_level": "1", "pred": "up"}


class Images(StrEnum):
    """In which form images are wanted."""

    OWN = "own"  # the recording's own JPEG or PNG where it has such, else PNG
    PNG = "png"  # lossless
    JPEG = "jpeg"  # the recording's own JPEG, else encoded
    RAW = "raw"  # decoded pixels

    @classmethod
    def of(cls, text: str) -> Images:
        """The form of that name.

        Raises:
            UnknownNameError: there is none.
        """
        if text not in list(cls):
            raise UnknownNameError("form of images", text, list(cls))
        return cls(text)


def stored_form(planners: list[Planner[EpisodePlan]], plans: list[EpisodePlan], camera: str) -> str:
    """``jpeg`` or ``png`` where all images of a camera that rows show are whole files of that form already;
    else empty."""
    forms = set()
    by_session = {planner.source.session: planner for planner in planners}
    used: dict[tuple[str, int], int] = {}
    for plan in plans:
        table = by_session[plan.source.session].tables[camera]
        for segment, place in zip(
            *np.unique(table.segment[plan.images[camera]], return_index=True), strict=True
        ):
            used.setdefault((plan.source.session, int(segment)), int(plan.images[camera][place]))
    for (session, number), place in used.items():
        planner = by_session[session]
        table = planner.tables[camera]
        segment = table.stream.segments[number]
        form = _OWN.get(segment.codec, "")
        if form == "jpeg":
            index = planner.packets(segment.file)
            first = next(bytes_at(index, ticks_in(index, segment, table.pts[place : place + 1])), None)
            form = form if first is not None and _HUFFMAN in first[1][:_HEAD_BYTES] else ""
        forms.add(form)
    return forms.pop() if len(forms) == 1 else ""


def chosen_forms(wanted: Images, stored: dict[str, str], specs: dict[str, FeatureSpec]) -> dict[str, str]:
    """camera -> ``jpeg``, ``png`` or ``raw``, where each may have its own. Depth is never JPEG.

    `stored`: camera -> what `stored_form` says of it.
    """
    return {name: _chosen(wanted, form, specs[name].depth) for name, form in stored.items()}


def _chosen(wanted: Images, stored: str, depth: bool) -> str:
    if wanted is Images.RAW:
        return "raw"
    if wanted is Images.JPEG and not depth:
        return "jpeg"
    if wanted is Images.OWN and stored == "jpeg" and not depth:
        return "jpeg"
    return "png"


class StillEncoder:
    """Pictures as files of one form.

    Args:
        form: ``png`` (8 bits of colour, or 16 of depth: every bit is kept) or ``jpeg``.
        scale: JPEG's quantiser, 1 (best) to 31.
    """

    def __init__(self, form: str, scale: int = 2) -> None:
        from av.video.reformatter import VideoReformatter

        self._form = form
        self._scale = scale
        self._reformatter = VideoReformatter()
        self._context: av.VideoCodecContext | None = None

    def encode(self, picture: av.VideoFrame) -> bytes:
        """The file that holds a picture; colour goes through its own matrix and range."""
        import av

        pixels = to_pixels(picture, self._reformatter)
        deep = pixels.dtype == np.uint16
        frame = av.VideoFrame.from_ndarray(pixels, format="gray16le" if deep else "rgb24")
        context = self._context
        if context is None or (context.width, context.height) != (frame.width, frame.height):
            context = self._context = self._open(frame.width, frame.height, deep)
        shown = self._converted(frame, str(context.pix_fmt))
        return b"".join(bytes(packet) for packet in context.encode(shown))

    def _open(self, width: int, height: int, deep: bool) -> av.VideoCodecContext:
        import av

        codec = "mjpeg" if self._form == "jpeg" else "png"
        context = cast("av.VideoCodecContext", av.CodecContext.create(codec, "w"))
        context.width, context.height = width, height
        context.time_base = Fraction(1, 1)
        context.thread_count = 1  # one picture in, one file out
        context.pix_fmt = "yuvj444p" if self._form == "jpeg" else "gray16be" if deep else "rgb24"
        if self._form == "jpeg":
            context.options = {"qmin": str(self._scale), "qmax": str(self._scale)}
        else:
            context.options = _PNG
        return context

    def _converted(self, frame: av.VideoFrame, pix_fmt: str) -> av.VideoFrame:
        from av.video.reformatter import ColorRange, Colorspace

        if pix_fmt == "yuvj444p":  # JFIF: BT.601 of full range
            return self._reformatter.reformat(
                frame,
                format=pix_fmt,
                dst_colorspace=Colorspace.ITU601,
                dst_color_range=ColorRange.JPEG,
                threads=1,
            )
        return self._reformatter.reformat(frame, format=pix_fmt, threads=1)


def pixels_of(picture: av.VideoFrame) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """RGB (H, W, 3) uint8, or depth (H, W, 1) uint16."""
    pixels = to_pixels(picture)
    return pixels if pixels.ndim == 3 else pixels[:, :, None]
