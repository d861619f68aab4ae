"""The page: the fault stands at the top, marks lie where the times say, hostile names stay text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from twinloop.checks.render.html import render_html
from twinloop.checks.render.html.timeline import LABELS, RIGHT, WIDTH
from twinloop.checks.run import check
from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Feature, Mapping
from twinloop.core.session import Episode
from twinloop.testing.memory import MemoryRecording, memory_stream

START_NS = 1_700_000_000_000_000_000
NAMES = ("elbow", "gripper")
MAPPING = Mapping(
    (
        Feature("observation.state", "/arm", Role.OBSERVATION, "position"),
        Feature("action", "/leader", Role.ACTION, "position"),
    )
)


def arm(name: str, rate_hz: float, seconds: float, *, hole: tuple[float, float] | None = None):
    at = np.arange(int(rate_hz * seconds)) / rate_hz
    if hole:
        at = at[(at < hole[0]) | (at >= hole[1])]
    position = np.stack([np.sin(at), np.cos(2 * at)], axis=1)
    stamp = START_NS + np.rint(at * 1e9).astype(np.int64)
    return memory_stream(
        name, Kind.JOINTS, {"position": position}, stamp_ns=stamp, log_ns=stamp + 1_000_000, names=NAMES
    )


def page(recording: MemoryRecording, episodes: tuple[Episode, ...] = ()) -> str:
    report = check(recording, mapping=MAPPING, episodes=episodes)
    return render_html(recording, report, mapping=MAPPING, episodes=episodes)


@pytest.fixture(scope="module")
def with_hole() -> str:
    return page(MemoryRecording([arm("/arm", 100, 10, hole=(4.0, 6.0)), arm("/leader", 50, 10)]))


class _Wellformed(HTMLParser):
    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_every_element_is_closed_and_nothing_is_fetched(with_hole):
    parser = _Wellformed()
    parser.feed(with_hole)
    assert parser.open == []
    assert not re.search(r'(src|href)="(?!data:)', with_hole)
    assert with_hole.count("<script") == 1
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", with_hole)


def test_the_fault_stands_before_the_timeline(with_hole):
    head = with_hole[: with_hole.index("<h2>Timeline")]
    assert re.search(r"[1-9] errors?, ", head)
    assert "gap" in head
    assert "/arm" in head
    assert "2" in re.search(r"(?i)silent for (\d)", head)[1]


def test_the_hole_is_drawn_where_it_is(with_hole):
    (gap,) = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="15" class="gap">', with_hole)
    scale = (WIDTH - LABELS - RIGHT) / 9.99
    assert float(gap[0]) == pytest.approx(LABELS + 3.99 * scale, abs=1)
    assert float(gap[1]) == pytest.approx(2.01 * scale, abs=1)


def test_a_clean_recording_says_so():
    text = page(MemoryRecording([arm("/arm", 100, 10), arm("/leader", 50, 10)]))
    assert "nothing wrong found" in text
    assert 'class="gap"' not in text[text.index("<svg") :]


def test_episodes_are_bands_and_instructions_stay_text():
    episodes = (
        Episode("A", 0, START_NS, START_NS + 4 * 10**9, instruction="<script>alert(1)</script>"),
        Episode("B", 1, START_NS + 5 * 10**9, START_NS + 9 * 10**9, excluded='"bad"'),
    )
    text = page(MemoryRecording([arm("/arm", 100, 10), arm("/leader", 50, 10)]), episodes)
    assert text.count('class="episode') == 2
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text


def test_hostile_names_stay_text():
    name = '/<img src=x onerror="alert(1)">'
    text = page(MemoryRecording([arm(name, 100, 5), arm("/leader", 50, 5)]))
    assert "<img src=x" not in text


def test_size_is_bounded_for_long_recordings():
    long = [arm(f"/joint_group_{i}", 500, 200) for i in range(6)]
    assert len(page(MemoryRecording([*long, arm("/arm", 500, 200), arm("/leader", 200, 200)]))) < 1_000_000


def test_a_recording_without_samples_has_a_page():
    assert "twinloop" in page(MemoryRecording([arm("/arm", 100, 0)]))
