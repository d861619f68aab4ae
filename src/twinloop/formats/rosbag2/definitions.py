"""Where the definition of a ROS 2 type comes from: the bag, the user's folder, or the standard set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from twinloop.core.errors import Where
from twinloop.core.recording import Problem, ReadNote
from twinloop.formats.rosbag2.types_dir import TypesDir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from twinloop.formats.messages import MessageDecoder

    Format = Literal["ros2msg", "ros2idl"]


@dataclass(slots=True)
class Definitions:
    """The definitions that one bag's types can have.

    Attributes:
        carried: type -> (encoding, text), as the bag stores them (since Iron).
        types_dir: folder of definitions that the user names. distro: ROS release that recorded the bag.
        standard: types that were taken from the standard set, for the note.
    """

    file: Path
    carried: Mapping[str, tuple[str, str]]
    types_dir: Path | None = None
    distro: str | None = None
    notes: list[ReadNote] = field(default_factory=list)
    standard: list[str] = field(default_factory=list)
    _folder: TypesDir | None = None

    def decoder(self, type_name: str, serialization: str, topic: str) -> MessageDecoder | None:
        """The decoder of a type; None, with a note, where its messages must stay raw."""
        if serialization != "cdr":
            self._note(topic, f"its messages are serialised as {serialization!r}, not cdr; they are kept raw")
            return None
        tried = ""
        for text, definition_format in self._candidates(type_name):
            decoder, why = _decoder(type_name, text, definition_format)
            if decoder is not None:
                return decoder
            tried = tried or why
        if tried:
            self._note(topic, f"the definition of {type_name} cannot be used ({tried}); it is kept raw")
        else:
            self._note(
                topic,
                f"the bag carries no definition of {type_name}, and it is no standard type; it is kept raw "
                "(--types DIR names a folder of definitions)",
            )
        return None

    def note_standard(self) -> None:
        """Say, once, which types were read by standard definitions."""
        if not self.standard:
            return
        names = ", ".join(sorted(set(self.standard)))
        of = f"ROS 2 {self.distro}" if self.distro else "the newest ROS 2 release known"
        message = f"the bag carries no definitions; the standard ones of {of} were taken for {names}"
        self.notes.append(ReadNote(Problem.SCHEMA, message, Where(file=str(self.file))))

    def _candidates(self, type_name: str) -> list[tuple[str, Format]]:
        """Definitions to try, best first."""
        found: list[tuple[str, Format]] = []
        encoding, text = self.carried.get(type_name, ("", ""))
        if text:
            found.append((text, "ros2idl" if encoding == "ros2idl" else "ros2msg"))
        if self.types_dir is not None:
            self._folder = self._folder or TypesDir(self.types_dir)
            if own := self._folder.definition(type_name):
                found.append((own, "ros2msg"))
        if not found:
            from twinloop.formats.ros.standard import standard_definition

            if standard := standard_definition(type_name, ros2=True, distro=self.distro):
                self.standard.append(type_name)
                found.append((standard, "ros2msg"))
        return found

    def _note(self, topic: str, message: str) -> None:
        self.notes.append(ReadNote(Problem.SCHEMA, message, Where(file=str(self.file), stream=topic)))


def _decoder(type_name: str, text: str, definition_format: Format) -> tuple[MessageDecoder | None, str]:
    from twinloop.formats.ros.decoder import ros_decoder
    from twinloop.formats.ros.definitions import DefinitionError

    try:
        return ros_decoder(type_name, text, encoding="cdr", definition_format=definition_format), ""
    except DefinitionError as error:
        return None, error.what
