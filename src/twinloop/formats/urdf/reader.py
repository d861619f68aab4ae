"""The reader `urdf`: see the package's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinloop.core.errors import Where
from twinloop.core.recording import Attachment, Problem
from twinloop.formats.notes import Notes

if TYPE_CHECKING:
    from pathlib import Path

    from twinloop.core.recording import Recording
    from twinloop.formats.reader import ReadOptions

_MEDIA = {".stl": "model/stl", ".obj": "model/obj", ".dae": "model/vnd.collada+xml"}


class UrdfReader:
    """Robot descriptions."""

    name = "urdf"
    title = "Robot description (URDF)"
    keeps = "the text, links, joints and limits, meshes that are there"
    loses = "nothing"
    extra: str | None = None

    def sniff(self, path: Path, head: bytes) -> bool:
        """XML of a robot with links."""
        from twinloop.formats.urdf.description import is_urdf

        return bool(head) and is_urdf(path, head)

    def open(self, path: Path, options: ReadOptions) -> Recording:  # noqa: ARG002
        """Parse the description and look for its meshes.

        Raises:
            UnreadableError: it is no description of a robot.
        """
        import pyarrow as pa

        from twinloop.core.kinds import Kind
        from twinloop.core.stream import Stream
        from twinloop.formats.gathered import GatheredRecording, TableInMemory
        from twinloop.formats.urdf.description import find_meshes, read_description

        notes = Notes()
        description = read_description(path)
        meshes, missing = find_meshes(path, description.meshes)
        if missing:
            shown = ", ".join(name[:120] for name in missing[:3]) + (" and others" if len(missing) > 3 else "")
            message = f"{len(missing)} of {len(description.meshes)} meshes are not there: {shown}"
            notes.add(Problem.MISSING_FILE, message, Where(file=str(path)))
        stream = Stream(
            name="robot_description",
            kind=Kind.TEXT,
            count=1,
            timeline="stamp_ns",
            type_name="URDF",
            encoding="xml",
            bytes=path.stat().st_size,
        )
        return GatheredRecording(
            path,
            self.name,
            files=(path, *meshes.values()),
            sources=[TableInMemory(stream, {"text": pa.array([description.text], pa.string())})],
            metadata=description.facts,
            attachments=tuple(
                Attachment(
                    name,
                    _MEDIA.get(file.suffix.lower(), "application/octet-stream"),
                    file.stat().st_size,
                    None,
                    str(file),
                )
                for name, file in meshes.items()
            ),
            notes=notes,
        )


READER = UrdfReader()
