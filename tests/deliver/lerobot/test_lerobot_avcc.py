"""H.264's set-up bytes are taken apart and joined so that decoders accept the result."""

from __future__ import annotations

import pytest
from export_lab import X264

from twinloop.deliver.lerobot.avcc import OWN_ID, ParameterSets
from twinloop.formats.video.probe import packet_index


def sets_of(lab, name, options) -> ParameterSets:
    sets = ParameterSets.parse(packet_index(lab.video(name, 3, options=options)).extradata)
    assert sets is not None
    return sets


def own(options):
    return options | {"x264-params": f"sps-id={OWN_ID}"}


@pytest.mark.parametrize("profile", ["baseline", "main", "high"])
def test_sets_of_two_encoders_are_joined(lab, profile):
    source = sets_of(lab, "a.mp4", X264 | {"profile": profile})
    ours = sets_of(lab, "b.mp4", own({"preset": "veryfast", "bf": "0"}))
    assert source.ids() == {0}
    assert ours.ids() == {OWN_ID}
    assert source.leaves_room
    joined = source.joined(ours)
    assert joined is not None
    back = ParameterSets.parse(joined)
    assert back is not None
    assert back.sps == source.sps + ours.sps
    assert back.pps == source.pps + ours.pps
    assert back.ids() == {0, OWN_ID}
    assert back.head[1] == ours.head[1]  # high, the larger profile
    assert back.tail == ours.tail


def test_an_id_that_is_taken_leaves_no_room(lab):
    ours = sets_of(lab, "a.mp4", own(X264))
    assert not ours.leaves_room
    assert ours.joined(ours) is None


def test_what_is_no_such_record_is_none():
    assert ParameterSets.parse(b"") is None
    assert ParameterSets.parse(bytes.fromhex("000000016764000a")) is None
