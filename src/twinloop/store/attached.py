"""Files carried inside a recording: pointed to where they lie in a raw file, or kept beside the streams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.store.objects import encode_name

if TYPE_CHECKING:
    from twinloop.core.recording import Attachment, Recording
    from twinloop.store.manifest import Artefact
    from twinloop.store.raw_files import RawFiles
    from twinloop.store.streams import Layout


def keep_attachments(
    recording: Recording, raw: RawFiles, layout: Layout
) -> tuple[tuple[Attachment, ...], tuple[Artefact, ...]]:
    """A recording's attachments with places of the store as files, and the artefacts made for them."""
    kept: list[Attachment] = []
    made: list[Artefact] = []
    for number, attachment in enumerate(recording.attachments):
        place = raw.place(attachment.file or str(recording.path))
        if place is not None:
            kept.append(replace(attachment, file=place))
            continue
        path = layout.folder("attachments") / f"{number}-{encode_name(attachment.name)}"
        path.write_bytes(recording.read_attachment(attachment))
        artefact = layout.artefact(path)
        made.append(artefact)
        kept.append(replace(attachment, file=artefact.key, offset=0))
    return tuple(kept), tuple(made)
