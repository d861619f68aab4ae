"""What a description says: links, joints with limits, meshes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from twinloop.core.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

#: No description is larger: meshes lie in files of their own.
MOST_BYTES = 64 << 20
_ROOT = re.compile(rb"<robot[\s>]")
_PACKAGE = re.compile(r"^(?:package|model)://")
_LEVELS_UP = 6
#: Nothing else is taken for a mesh, whatever a description names.
MESHES = frozenset({".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".msh"})
_TAIL = 1 << 18


@dataclass(frozen=True, slots=True)
class Description:
    """A parsed description: `text` as it stands, `facts` as metadata, names of `meshes` as written."""

    text: str
    facts: dict[str, str]
    meshes: tuple[str, ...]


def is_urdf(path: Path, head: bytes) -> bool:
    """Whether a file is XML of a robot with links; semantic descriptions (SRDF) have none."""
    if not head.lstrip().startswith(b"<") or not _ROOT.search(head):
        return False
    if b"<link" in head:
        return True
    try:
        with path.open("rb") as file:
            return b"<link" in file.read(_TAIL)
    except OSError:
        return False


def read_description(path: Path) -> Description:
    """Parse a description.

    Raises:
        UnreadableError: it is too large, no text, no XML, or not of a robot.
    """
    if path.stat().st_size > MOST_BYTES:
        raise UnreadableError(
            "it is too large for a description", where=str(path), expected=f"{MOST_BYTES} bytes"
        )
    try:
        data = path.read_bytes()
        root = ElementTree.fromstring(data)
        text = data.decode("utf-8-sig")
    except (ElementTree.ParseError, UnicodeDecodeError, ValueError, LookupError) as error:
        raise UnreadableError(f"the XML does not parse: {error}", where=str(path)) from None
    if root.tag != "robot":
        raise UnreadableError(f"the XML is of a {root.tag[:40]}", where=str(path), expected="a robot")
    links = [link.get("name", "") for link in root.findall("link")]
    joints = root.findall("joint")
    moving = [joint for joint in joints if joint.get("type") != "fixed"]
    facts = {
        "robot": root.get("name", ""),
        "links": ", ".join(links),
        "joints": ", ".join(joint.get("name", "") for joint in moving),
        "fixed_joints": str(len(joints) - len(moving)),
    }
    facts |= {f"joint/{joint.get('name', '')}": _said(joint) for joint in moving}
    meshes = (mesh.get("filename", "") for mesh in root.iter("mesh"))
    return Description(text, facts, tuple(dict.fromkeys(name for name in meshes if name)))


def find_meshes(path: Path, names: tuple[str, ...]) -> tuple[dict[str, Path], list[str]]:
    """The meshes that are there, by name as written, and the names of those that are not."""
    found: dict[str, Path] = {}
    missing: list[str] = []
    for name in names:
        file = next((place for place in _places(path, name) if _is_file(place)), None)
        if file is None:
            missing.append(name)
        else:
            found[name] = file
    return found, missing


def _said(joint: Element) -> str:
    """Type, parent, child, axis, limits and what it mimics, in the description's own numbers."""
    words = [joint.get("type", "")]
    for tag, attribute in (("parent", "link"), ("child", "link"), ("axis", "xyz"), ("mimic", "joint")):
        element = joint.find(tag)
        if element is not None:
            words.append(f"{tag} {element.get(attribute, '')}")
    limit = joint.find("limit")
    if limit is not None:
        words += [f"{key} {value}" for key, value in limit.attrib.items()]
    return ", ".join(words)


def _places(path: Path, name: str) -> Iterator[Path]:
    plain = _PACKAGE.sub("", name).removeprefix("file://")
    parts = [part for part in plain.replace("\\", "/").split("/") if part]
    if not parts or ".." in parts or "\0" in name or Path(parts[-1]).suffix.lower() not in MESHES:
        return
    for parent in list(path.resolve().parents)[:_LEVELS_UP]:
        for first in range(min(2, len(parts))):
            yield parent.joinpath(*parts[first:])


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except OSError:
        return False
