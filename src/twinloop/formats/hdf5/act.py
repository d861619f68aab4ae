"""ALOHA / ACT, Mobile ALOHA and OpenArm's collector: one episode a file.

``observations/qpos``, ``qvel``, ``effort``, ``images/<camera>`` and ``action`` have one row a step. With the
root's attribute `compress`, pictures are JPEGs padded with zeros to one length (their lengths stand in
``compress_len``). OpenArm's collector has ``left_q`` and ``right_q`` instead, and ``timestamp`` in seconds. No
layout says the order of a picture's channels; they are taken as RGB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.clock import Clock, Epoch
from twinloop.core.kinds import Kind, StampSource
from twinloop.formats.hdf5.plan import Plan, PlannedEpisode, PlannedStream, TimeColumn, Times
from twinloop.formats.hdf5.tree import flat_attributes
from twinloop.formats.hdf5.written import OWN, OWN_FEATURES, step_stamps, with_outcome
from twinloop.formats.steps.decode import Joints, PackedPictures, decoder_for
from twinloop.formats.steps.grid import likely_rate
from twinloop.formats.steps.names import distinct, role_of, stream_name
from twinloop.formats.steps.stamps import stamps_of

if TYPE_CHECKING:
    from twinloop.formats.hdf5.tree import Tree
    from twinloop.formats.notes import Notes
    from twinloop.formats.steps.arrays import Array
    from twinloop.formats.steps.decode import Decoder

_OBSERVATIONS = ("observations", "observation", "obs")
_NAMES = {"qpos": "observation.state", "qvel": "observation.velocity", "effort": "observation.effort"}
_JOINTS = {"qpos": "position", "left_q": "position", "right_q": "position"}
_INSTRUCTIONS = ("language_instruction", "instruction", "language_raw", "task", "language")
_RATES = ("fps", "control_freq", "control_frequency", "frequency")
_LENGTHS = "compress_len"


def matches(tree: Tree) -> bool:
    """Whether joint positions or pictures lie among the observations of the one episode."""
    return any(
        f"{group}/{name}" in tree.arrays for group in _OBSERVATIONS for name in ("qpos", "left_q", "right_q")
    ) or ("action" in tree.arrays and any(f"{group}/images" in tree.groups for group in _OBSERVATIONS))


def plan(tree: Tree, notes: Notes) -> Plan:  # noqa: ARG001  (nothing here can disagree)
    """The file is one episode."""
    about = tree.attributes("")
    episode = with_outcome(
        tree, PlannedEpisode("", _instruction(tree), None, flat_attributes(about), _steps(tree))
    )
    stamps = step_stamps(tree, (episode,))
    times = None if stamps or _is_grid(tree) else _times(tree)
    streams: list[PlannedStream] = []
    names: set[str] = set()
    for source, array in tree.arrays.items():
        decoder = _decoder(tree, source, array)
        known = source == _LENGTHS or (stamps is not None and source == stamps.source)
        if decoder is None or known or _is_text_of_all(tree, array):
            continue
        picture = decoder.kind in (Kind.IMAGE, Kind.DEPTH)
        name = distinct(_name(source, picture), names)
        names.add(name)
        attributes = {"key": source}
        if picture:
            attributes["channels"] = "their order is not declared; taken as RGB"
        streams.append(PlannedStream(name, decoder, times, role_of(name), attributes=attributes))
    rate = next((r for key in _RATES if (r := likely_rate(about.get(key)))), None)
    openarm = any(source.endswith(("/left_q", "/right_q")) for source in tree.arrays)
    return Plan(
        "OpenArm" if openarm else "ALOHA / ACT",
        (episode,),
        tuple(streams),
        rate,
        flat_attributes(about),
        stamps=stamps,
    )


def _decoder(tree: Tree, source: str, array: Array) -> Decoder | None:
    if array.dtype == np.uint8 and len(array.shape) == 2 and "/images/" in source:
        return PackedPictures(source)
    leaf = source.rsplit("/", 1)[-1]
    if array.is_number and len(array.shape) == 2 and leaf in _JOINTS:
        return Joints(source, _JOINTS[leaf])
    if array.is_number and source == "action" and len(array.shape) == 2 and _acts_on_joints(tree, array):
        return Joints(source)
    return decoder_for(array, source)


def _acts_on_joints(tree: Tree, action: Array) -> bool:
    """Whether actions are as wide as joint positions whose velocities are there too: targets of the joints."""
    found = [tree.arrays.get(f"{group}/{name}") for group in _OBSERVATIONS for name in ("qpos", "qvel")]
    return [array.shape[1:] for array in found if array is not None] == [action.shape[1:]] * 2


def _name(source: str, picture: bool) -> str:
    leaf = source.rsplit("/", 1)[-1]
    if leaf in _NAMES and source.split("/")[0] in _OBSERVATIONS:
        return _NAMES[leaf]
    if source.startswith(OWN_FEATURES):
        return source.removeprefix(OWN_FEATURES)
    return "action.base" if source == "base_action" else stream_name(source, picture=picture)


def _is_grid(tree: Tree) -> bool:
    """Whether an export of ours says that its times were made up."""
    about = tree.attributes(OWN) if OWN in tree.groups else {}
    return not stamps_of(about.get("stamp_source"), about.get("clock")).are_true


def _times(tree: Tree) -> Times | None:
    """OpenArm's ``timestamp``, in seconds since 1970."""
    for group in _OBSERVATIONS:
        array = tree.arrays.get(f"{group}/timestamp")
        if array is not None and array.dtype.kind == "f" and len(array.shape) == 1:
            column = TimeColumn(((array.path, "s"),))
            return Times(
                {"stamp_ns": column}, "stamp_ns", StampSource.DRIVER, Clock(Epoch.UNIX), Clock(Epoch.UNIX)
            )
    return None


def _steps(tree: Tree) -> int | None:
    for source in ("action", *(f"{g}/{n}" for g in _OBSERVATIONS for n in ("qpos", "left_q", "right_q"))):
        if source in tree.arrays:
            return tree.arrays[source].rows
    return None


def _is_text_of_all(tree: Tree, array: Array) -> bool:
    """Whether a text is about the episode and not of a step."""
    return array.is_text and array.rows != _steps(tree)


def _instruction(tree: Tree) -> str | None:
    about = tree.attributes("")
    said = [about.get(key) for key in _INSTRUCTIONS]
    said += [tree.text(key) for key in _INSTRUCTIONS if key in tree.arrays]
    return next((text.strip() for text in said if isinstance(text, str) and text.strip()), None)
