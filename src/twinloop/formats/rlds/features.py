"""features.json: what each key of a record holds, as tensorflow_datasets writes it (feature.proto in JSON)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from twinloop.core.errors import UnreadableError, Where
from twinloop.core.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from twinloop.formats.notes import Notes

STEPS = "steps"
#: Deeper nesting than any dataset has.
_DEEPEST = 32


@dataclass(frozen=True, slots=True)
class Leaf:
    """One feature that holds values.

    Attributes:
        key: its name in the record, parts joined by ``/``; below ``steps/`` where `per_step`.
        form: ``number``, ``picture``, ``text`` or ``bytes``.
        dtype, shape: of one value; -1 is a size that differs. ranks: sequences around it, the steps apart.
        encoding: of a number kept as bytes: ``none``, ``bytes`` or ``zlib``; of a picture ``jpeg``, ``png``.
    """

    key: str
    form: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    per_step: bool = False
    ranks: int = 0
    encoding: str = "none"
    description: str = ""

    @property
    def path(self) -> str:
        """The key within a step (or the episode)."""
        return self.key.removeprefix(STEPS + "/") if self.per_step else self.key

    @property
    def size(self) -> int | None:
        """Numbers in one value; None where that differs."""
        return None if self.ranks or -1 in self.shape else math.prod(self.shape)


def read_features(path: Path, notes: Notes) -> list[Leaf]:
    """The leaves of features.json, in its order.

    Raises:
        UnreadableError: it is no JSON, or describes no episodes of steps.
    """
    try:
        raw = json.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableError(f"the system refuses to read it: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(
            f"features.json is no JSON: {error}", where=str(path), expected="what tensorflow_datasets writes"
        ) from error
    leaves = list(_leaves(raw, Leaf("", ""), path, notes, 0))
    if not any(leaf.per_step for leaf in leaves):
        raise UnreadableError(
            "features.json describes no episodes of steps",
            where=str(path),
            expected='a feature "steps" that is a Dataset or Sequence, as RLDS has it',
        )
    return leaves


def _leaves(node: object, at: Leaf, path: Path, notes: Notes, depth: int) -> Iterator[Leaf]:
    if not isinstance(node, Mapping) or depth > _DEEPEST:
        notes.add(Problem.SCHEMA, f"feature {at.key!r} is described by no JSON object", Where(file=str(path)))
        return
    at = replace(at, description=str(node.get("description") or ""))
    if "featuresDict" in node:
        for name, inner in _inner(node, "featuresDict", "features").items():
            key = f"{at.key}/{name}" if at.key else str(name)
            yield from _leaves(inner, replace(at, key=key), path, notes, depth + 1)
    elif "sequence" in node:
        steps = at.key == STEPS
        inside = replace(at, per_step=True) if steps else replace(at, ranks=at.ranks + 1)
        yield from _leaves(_inner(node, "sequence").get("feature"), inside, path, notes, depth + 1)
    elif (leaf := _leaf(node, at)) is not None:
        yield leaf
    else:
        kind = str(node.get("pythonClassName", "")).rsplit(".", 1)[-1]
        notes.add(Problem.SCHEMA, f"feature {at.key} is of a kind that is not read: {kind}", Where(str(path)))


def _leaf(node: Mapping[str, Any], at: Leaf) -> Leaf | None:
    if "tensor" in node or "audio" in node:
        said = _inner(node, "tensor") or _inner(node, "audio")
        dtype = str(said.get("dtype") or "int64")
        form = "text" if dtype == "string" else "number"
        return replace(
            at, form=form, dtype=dtype, shape=_shape(said), encoding=str(said.get("encoding") or "none").lower()
        )
    for kind in ("image", "labeledImage", "video"):
        if kind in node:
            said = _inner(node, kind)
            shape, ranks = _shape(said), at.ranks
            if kind == "video":  # a sequence of images
                shape, ranks = shape[1:], ranks + 1
            return replace(
                at,
                form="picture",
                dtype=str(said.get("dtype") or "uint8"),
                shape=shape,
                ranks=ranks,
                encoding=str(said.get("encodingFormat") or ""),
            )
    if "text" in node:
        return replace(at, form="text", dtype="string")
    if "classLabel" in node:
        return replace(at, form="number", dtype="int64")
    if "boundingBox" in node or "bbox" in node:
        return replace(at, form="number", dtype="float32", shape=(4,))
    return None


def _inner(node: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    found: Any = node
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _shape(said: Mapping[str, Any]) -> tuple[int, ...]:
    """Sizes, -1 where they differ. JSON of protobuf writes 64-bit integers as text."""
    sizes = _inner(said, "shape").get("dimensions")
    shape = []
    for size in sizes if isinstance(sizes, list) else []:
        try:
            shape.append(max(-1, int(size)))
        except (TypeError, ValueError):
            shape.append(-1)
    return tuple(shape)
