"""What an export of ours says in the group `twinloop` of an episode, and times of steps in files of anybody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from twinloop.formats.hdf5.plan import PlannedEpisode, StepStamps, path_in, sample_of
from twinloop.formats.steps.stamps import stamps_of
from twinloop.formats.steps.times import TIMESTAMP_NS, agreed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from twinloop.formats.hdf5.tree import Tree

OWN = "twinloop"
#: Features that the layout has no place for, by their names.
OWN_FEATURES = f"{OWN}/features/"
_ROW_NS = f"{OWN}/row_ns"
_TIMES = (
    _ROW_NS,
    TIMESTAMP_NS,
    *(f"{group}/{TIMESTAMP_NS}" for group in ("obs", "observations", "observation")),
)


def step_stamps(tree: Tree, episodes: tuple[PlannedEpisode, ...]) -> StepStamps | None:
    """The times of the steps, where a dataset of whole nanoseconds has them and nobody says they are a grid."""
    for source in _TIMES:
        array = sample_of(tree, episodes, source)
        if array is None or array.dtype.kind not in "iu" or array.shape[1:] not in ((), (1,)):
            continue
        said = [tree.attributes(path_in(one.group, OWN)) for one in episodes] if source == _ROW_NS else []
        stamps = agreed({stamps_of(about.get("stamp_source"), about.get("clock")) for about in said})
        if stamps.are_true:
            return StepStamps(tuple(_times(tree, one, source) for one in episodes), stamps, source)
    return None


def _times(tree: Tree, episode: PlannedEpisode, source: str) -> NDArray[np.int64] | None:
    return tree.whole_numbers(path_in(episode.group, source))


def with_outcome(tree: Tree, episode: PlannedEpisode) -> PlannedEpisode:
    """The episode with the outcome that its group `twinloop` tells."""
    group = path_in(episode.group, OWN)
    said = tree.attributes(group).get("outcome") if group in tree.groups else None
    return replace(episode, outcome=said) if isinstance(said, str) and said else episode
