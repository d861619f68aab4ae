"""The parts of the page: one card a rule, words where there is room, joints that can be read."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from twinloop.checks.render.html import render_html
from twinloop.checks.render.html.marks import finding_marks, has_marks
from twinloop.checks.render.html.timeline import LABELS, RIGHT, WIDTH
from twinloop.checks.render.html.times import read_times
from twinloop.checks.render.html.words import clock, measured
from twinloop.core.errors import Where
from twinloop.core.finding import CheckReport, Finding, RuleNote, Severity
from twinloop.core.kinds import Kind, Role, StampSource
from twinloop.core.mapping import Feature, Mapping
from twinloop.core.recording import Problem, ReadNote
from twinloop.core.session import Episode
from twinloop.testing.memory import MemoryRecording, memory_stream

START_NS = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def arm(seconds: float = 10.0):
    at = np.arange(int(50 * seconds)) / 50
    stamp = START_NS + np.rint(at * 1e9).astype(np.int64)
    position = np.stack([np.sin(at), np.full(len(at), 0.25)], axis=1)
    return memory_stream(
        "/arm", Kind.JOINTS, {"position": position}, stamp_ns=stamp, log_ns=stamp, names=("elbow", "fixed")
    )


def finding(start_s: float | None = 2.0, end_s: float | None = 3.0, **changes) -> Finding:
    facts = {
        "code": "TIM004",
        "name": "gap",
        "severity": Severity.ERROR,
        "message": "silent for 1 s",
        "fix": "look for a full queue",
        "stream": "/arm",
        "start_ns": None if start_s is None else START_NS + round(start_s * SECOND),
        "end_ns": None if end_s is None else START_NS + round(end_s * SECOND),
        "value": 1000.0,
        "limit": 50.0,
        "unit": "ms",
    }
    return Finding(**{**facts, **changes})


def page(findings, *, episodes=(), seconds: float = 10.0, **report) -> str:
    mapping = Mapping((Feature("observation.state", "/arm", Role.OBSERVATION, "position", why="its name"),))
    recording = MemoryRecording([arm(seconds)])
    recording.notes.append(ReadNote(Problem.CORRUPT, "a bad chunk", Where(file="/x/take.mcap", byte=99), 7))
    made = CheckReport("take", findings=tuple(findings), **report)
    return render_html(recording, made, mapping=mapping, episodes=episodes)


def header(text: str) -> str:
    return text[text.index("<header") : text.index("</header>")]


def test_a_rule_broken_often_is_one_card():
    text = header(page([finding(float(i), i + 0.5) for i in range(1, 9)]))
    assert text.count('class="card error"') == 1
    assert "\u00d78" in text
    assert "also 2.00 s to 2.50 s" in text
    assert "4 more" in text
    assert "8 errors, 0 warnings" in text


def test_the_worst_come_first_and_the_rest_is_named():
    rules = [
        finding(code=f"TIM00{n}", name=f"rule_{n}", severity=Severity.WARNING if n < 3 else Severity.ERROR)
        for n in range(1, 7)
    ]
    text = header(page(rules))
    assert [int(n) for n in re.findall(r"<strong>rule (\d)", text)] == [3, 4, 5, 6]
    assert "and below: rule 1, rule 2" in text


def test_marks_stand_where_findings_start_with_a_word_beside():
    text = page([finding()])
    x = LABELS + 2.0 / 9.98 * (WIDTH - LABELS - RIGHT)
    sign = re.search(r'<text x="([\d.]+)" y="[\d.]+" class="mark error">', text)
    assert sign
    assert float(sign[1]) == pytest.approx(x, abs=0.5)
    assert re.search(r'class="word error">gap 1 s<', text)


def test_findings_without_a_time_colour_the_name_only():
    text = page([finding(None, None, message="nothing is known of when")])
    assert 'class="label error"' in text
    assert 'class="mark error">\u2716</text>' not in text
    assert not has_marks([finding(None, None), finding(severity=Severity.INFO)])


def test_marks_that_would_overlap_are_one():
    def x_of(time_ns: int) -> float:
        return (time_ns - START_NS) / 1e9

    close = "".join(finding_marks([finding(float(n), None) for n in range(1, 5)], x_of, 10.0, 900.0))
    assert close.count('class="mark error"') == 1
    assert "4 \u00d7 gap" in close
    often = "".join(finding_marks([finding(30.0 * n, None) for n in range(1, 21)], x_of, 10.0, 900.0))
    assert often.count('class="mark error"') == 1
    assert "20 \u00d7 gap" in often
    assert often.count('class="span error"') == 20


def test_joints_are_drawn_and_constant_ones_named():
    text = page([finding(4.0, 6.0, message="position of elbow is odd")])
    assert "<figcaption>elbow" in text
    assert "<figcaption>fixed" not in text
    assert "Always the same: fixed 0.25." in text
    shade = re.search(r'<rect x="([\d.]+)" y="0" width="([\d.]+)"[^>]*class="finding error"', text)
    assert shade
    assert float(shade[1]) == pytest.approx(370 * 4 / 9.98 - 1, abs=1)


def test_of_a_long_recording_the_worst_episode_is_drawn():
    episodes = [
        Episode(str(n), n, START_NS + 40 * n * SECOND, START_NS + (40 * n + 20) * SECOND) for n in range(3)
    ]
    text = page([finding(85.0, 86.0, episode=2)], episodes=episodes, seconds=120)
    assert "episode 2 of 3" in text


def test_everything_is_told_below():
    text = page(
        [finding(confidence=0.5)],
        not_run=(RuleNote("SYN001", "no camera"), RuleNote("SYN002", "no camera")),
        failed=(RuleNote("VID001", "the rule crashed"),),
    )
    assert "SYN001, SYN002: no camera" in text
    assert "VID001 CRASHED" in text
    assert "1 rule crashed" in header(text)
    assert "1000 ms (limit 50)" in text
    assert "confidence 0.50" in text
    assert "look for a full queue" in text
    assert "a bad chunk (/x/take.mcap, byte 99); 7 samples lost" in text
    assert "its name" in text


def test_streams_in_no_feature_are_listed():
    recording = MemoryRecording([arm()])
    text = render_html(recording, CheckReport("take"), mapping=Mapping(), episodes=())
    assert "In no feature" in text
    assert "nothing wrong found" in text


@pytest.mark.parametrize(
    ("seconds", "said"), [(6.944, "6.94 s"), (725.3, "12:05.3"), (3723.0, "1:02:03"), (0.0, "0.00 s")]
)
def test_clock(seconds: float, said: str):
    assert clock(seconds) == said


def test_only_numbers_with_a_unit_that_says_what_they_are_stand_beside_a_mark():
    assert measured(finding(value=333.3)) == "333 ms"
    assert measured(finding(value=1266.0)) == "1.27 s"
    assert measured(finding(value=20.0, unit="sample")) == ""
    assert measured(finding(value=None)) == ""


def test_every_sample_is_counted_once_whatever_its_times():
    seconds = np.arange(40) * 100_000_000
    boxes = {"message": np.repeat(np.arange(4), 10), "category": pa.array(["car"] * 40)}
    streams = [
        memory_stream(
            "steps", Kind.SCALAR, {"value": seconds}, stamp_ns=seconds, stamp_source=StampSource.GRID
        ),
        memory_stream("boxes", Kind.DETECTIONS, boxes, stamp_ns=START_NS + np.repeat(seconds[:4], 10)),
        memory_stream("untimed", Kind.SCALAR, {"value": seconds}, log_ns=np.zeros(40)),
    ]
    times, _ = read_times(MemoryRecording(streams))
    assert {t.stream.name: (t.samples, t.count) for t in times} == {
        "steps": (40, 40),
        "boxes": (4, 4),
        "untimed": (40, 0),
    }


def test_numbers_of_what_is_no_robot_are_not_called_joints():
    stamp = START_NS + np.arange(100) * 10_000_000
    value = memory_stream("/level", Kind.SCALAR, {"value": np.sin(stamp / 1e8)}, stamp_ns=stamp)
    mapping = Mapping((Feature("observation.level", "/level", Role.OBSERVATION),))
    made = render_html(MemoryRecording([value]), CheckReport("take"), mapping=mapping, episodes=())
    assert "<h2>Numbers" in made and "<h2>Joints" not in made
    assert "action (commanded)" not in made
    assert "<h2>Joints" in page([])
