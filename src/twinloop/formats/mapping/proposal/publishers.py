"""Several publishers on one topic: joint states of an arm and of its gripper in turn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.core.kinds import Kind
from twinloop.formats.mapping.proposal.words import slug, words
from twinloop.formats.mapping.ragged import word_rows
from twinloop.formats.mapping.sample import first_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinloop.core.mapping import Feature
    from twinloop.core.recording import Recording


def of_every_publisher(recording: Recording, features: Sequence[Feature]) -> list[Feature]:
    """The features, and beside each one more for every other group of joints that comes on its topic."""
    whole: list[Feature] = []
    for feature in features:
        whole.append(feature)
        if recording.streams[feature.stream].kind is not Kind.JOINTS or not feature.names:
            continue
        for names in _groups(recording, feature.stream):
            if not set(names) & set(feature.names):
                why = f"other joints on the topic of {feature.name}, sent by another publisher"
                whole.append(
                    replace(feature, name=f"{feature.name}.{_group_name(names)}", names=names, why=why)
                )
    return whole


def _groups(recording: Recording, stream: str) -> list[tuple[str, ...]]:
    """The groups of joints that come together in the first seconds, the most frequent first."""
    counts: Counter[tuple[str, ...]] = Counter()
    for batch in first_batches(recording, stream, 2.0):
        if "name" not in batch.schema.names:
            return []
        rows, texts = word_rows(batch.column("name"))
        for width in np.unique(rows.length[rows.length > 0]).tolist():
            matrix = rows.rows(np.flatnonzero(rows.length == width), width)
            distinct, times = np.unique(matrix, axis=0, return_counts=True)
            for indices, count in zip(distinct.tolist(), times.tolist(), strict=True):
                counts[tuple(texts[i] for i in indices)] += count
    groups: list[tuple[str, ...]] = []
    for names, _ in counts.most_common():
        if not any(set(names) & set(group) for group in groups):
            groups.append(names)
    return groups


def _group_name(names: tuple[str, ...]) -> str:
    """The words that all names of a group begin with, or the first name."""
    first = words(names[0])
    shared = [
        word for place, word in enumerate(first) if all(words(n)[place : place + 1] == [word] for n in names)
    ]
    return slug(shared) or slug(first)
