"""Episodes: cut whole, as marked, at markers, by a table, at silences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from twinloop.core.errors import MappingError
from twinloop.core.kinds import Kind, Role
from twinloop.core.mapping import Cut, EpisodeCut, Feature, Mapping
from twinloop.core.recording import EpisodeSpan
from twinloop.formats.mapping.episodes import cut_episodes
from twinloop.testing.memory import MemoryRecording, MemoryStream, memory_stream

S = 1_000_000_000
STATE = Feature("observation.state", "/js", Role.OBSERVATION, "position")


def state(times_s: np.ndarray) -> MemoryStream:
    stamps = np.rint(times_s * S).astype(np.int64)
    return memory_stream(
        "/js", Kind.JOINTS, {"position": np.zeros((len(stamps), 1))}, stamp_ns=stamps, names=["a"]
    )


def texts(*items: tuple[float, str], name: str = "/episode") -> MemoryStream:
    times = [round(t * S) for t, _ in items]
    return memory_stream(name, Kind.TEXT, {"text": pa.array([text for _, text in items])}, log_ns=times)


def cut(recording: MemoryRecording, by: EpisodeCut, *features: Feature) -> list[tuple[float, float]]:
    spans = cut_episodes(recording, Mapping((STATE, *features), by))
    assert [span.index for span in spans] == list(range(len(spans)))
    return [(span.start_ns / S, span.end_ns / S) for span in spans]


TEN = np.arange(0, 10.01, 0.1)


def test_whole_and_marked() -> None:
    marks = [EpisodeSpan(0, S, 2 * S, "go"), EpisodeSpan(1, 3 * S, 4 * S)]
    recording = MemoryRecording([state(TEN)], episodes=marks)
    assert cut(recording, EpisodeCut()) == [(0.0, pytest.approx(10.000000001))]
    assert cut_episodes(recording, Mapping((STATE,), EpisodeCut(Cut.MARKED))) == marks
    with pytest.raises(MappingError, match="marks no episodes"):
        cut(MemoryRecording([state(TEN)]), EpisodeCut(Cut.MARKED))


def test_whole_covers_the_mapped_streams_alone() -> None:
    recording = MemoryRecording([state(TEN), texts((-500.0, "long before"))])
    assert cut(recording, EpisodeCut())[0][0] == 0.0


def test_between_start_and_stop_texts() -> None:
    by = EpisodeCut(Cut.TOPIC, "/episode", start="start", stop="stop")
    marks = texts((0.5, "stop"), (1, "start"), (2, "start"), (3, "stop"), (5, "start"))
    recording = MemoryRecording([state(TEN), marks])
    assert cut(recording, by) == [(1, 3), (5, pytest.approx(10.000000001))]
    open_ended = cut_episodes(recording, Mapping((STATE,), by))[1]
    assert "no stop" in open_ended.attributes["end"]


def test_without_a_stop_each_start_begins_a_new_one() -> None:
    by = EpisodeCut(Cut.TOPIC, "/episode", start="start")
    recording = MemoryRecording([state(TEN), texts((1, "start"), (4, "start"), (6, "note"))])
    assert cut(recording, by) == [(1, 4), (4, pytest.approx(10.000000001))]


def test_stars_give_instruction_and_outcome() -> None:
    by = EpisodeCut(Cut.TOPIC, "/episode", start="start*", stop="stop*")
    recording = MemoryRecording([state(TEN), texts((1, "start: pick it"), (3, "stop success"), (4, "start"))])
    first, second = cut_episodes(recording, Mapping((STATE,), by))
    assert (first.instruction, first.outcome) == ("pick it", "success")
    assert (second.instruction, second.outcome) == (None, None)


def test_events_give_facts_as_json() -> None:
    events = memory_stream(
        "/events",
        Kind.EVENT,
        {
            "name": pa.array(["begin", "end", "begin"]),
            "data": pa.array(['{"instruction": "fold"}', '{"outcome": "failure"}', "no json"]),
        },
        log_ns=[S, 2 * S, 3 * S],
    )
    by = EpisodeCut(Cut.TOPIC, "/events", start="begin", stop="end")
    first, second = cut_episodes(MemoryRecording([state(TEN), events]), Mapping((STATE,), by))
    assert (first.instruction, first.outcome) == ("fold", "failure")
    assert second.instruction is None


@pytest.mark.parametrize("values", [[False, True, True, False, True, True], [0, 1, 1, 0, 1, 1]])
def test_levels_of_truth_values_and_numbers(values: list[object]) -> None:
    kind, column = (Kind.TABLE, "data") if values[0] is False else (Kind.SCALAR, "value")
    stream = memory_stream("/pedal", kind, {column: pa.array(values)}, log_ns=[i * S for i in range(6)])
    by = EpisodeCut(Cut.TOPIC, "/pedal", start=None if kind is Kind.TABLE else "1")
    assert cut(MemoryRecording([state(TEN), stream]), by) == [(1, 3), (4, pytest.approx(10.000000001))]


def test_an_element_of_a_list_marks() -> None:
    buttons = pa.array([[0, 0], [0, 1], [0, 0]], pa.list_(pa.int32()))
    joy = memory_stream("/joy", Kind.JOY, {"buttons": buttons}, log_ns=[0, S, 2 * S])
    recording = MemoryRecording([state(TEN), joy])
    assert cut(recording, EpisodeCut(Cut.TOPIC, "/joy", "buttons.1")) == [(1, 2)]
    with pytest.raises(MappingError, match=r"buttons\.0"):
        cut(recording, EpisodeCut(Cut.TOPIC, "/joy", "buttons"))


def test_markers_that_are_not_there() -> None:
    recording = MemoryRecording([state(TEN), texts((1, "go"))])
    with pytest.raises(MappingError, match=r"(?s)no value of /episode is the start 'start'.*'go'"):
        cut(recording, EpisodeCut(Cut.TOPIC, "/episode", start="start"))
    with pytest.raises(MappingError, match=r"(?s)no stream '/episodes'.*did you mean /episode"):
        cut(recording, EpisodeCut(Cut.TOPIC, "/episodes", start="go"))
    with pytest.raises(MappingError, match="names no start"):
        cut(recording, EpisodeCut(Cut.TOPIC, "/episode"))
    with pytest.raises(MappingError, match=r"(?s)no field 'data'.*one of: text"):
        cut(recording, EpisodeCut(Cut.TOPIC, "/episode", "data", start="go"))


def test_at_silences() -> None:
    times = np.concatenate([np.arange(0, 2, 0.1), np.arange(5, 6, 0.1), np.arange(7.5, 8, 0.1)])
    recording = MemoryRecording([state(times)])
    assert [start for start, _ in cut(recording, EpisodeCut(Cut.GAPS))] == [0, 5]
    assert [start for start, _ in cut(recording, EpisodeCut(Cut.GAPS, idle_s=1))] == [0, 5, 7.5]
    assert [start for start, _ in cut(recording, EpisodeCut(Cut.GAPS, stream="/js", idle_s=9))] == [0]


class TestSpansTable:
    def recording(self, folder: Path, rows: str) -> MemoryRecording:
        (folder / "spans.csv").write_text(rows)
        return MemoryRecording([state(TEN + 1.7e9)], path=str(folder / "session.mcap"))

    by = EpisodeCut(Cut.SPANS, table="spans.csv")

    def test_times_in_seconds_and_nanoseconds(self, tmp_path: Path) -> None:
        for rows in (
            "start,end\n1,2.5\n",
            "start_s,end_s\n1700000001.0,1700000002.5\n",
            "start,end\n1700000001000000000,1700000002500000000\n",
            "start_ns,end_ns\n1700000001000000000,1700000002500000000\n",
        ):
            spans = cut_episodes(self.recording(tmp_path, rows), Mapping((STATE,), self.by))
            assert [(s.start_ns, s.end_ns) for s in spans] == [(1_700_000_001 * S, 1_700_000_002 * S + S // 2)]

    def test_other_columns(self, tmp_path: Path) -> None:
        rows = "end,start,task,outcome,operator\n2,1,fold,success,kim\n\n4,3,,,\n"
        first, second = cut_episodes(self.recording(tmp_path, rows), Mapping((STATE,), self.by))
        assert (first.instruction, first.outcome, first.attributes) == ("fold", "success", {"operator": "kim"})
        assert (second.instruction, second.outcome, dict(second.attributes)) == (None, None, {})

    @pytest.mark.parametrize(
        ("rows", "says"),
        [
            ("start,end\n1,2\n3,x\n", r"end is no number: 'x'(?s:.*)row 1"),
            ("start,end\n3,2\n", r"before it starts(?s:.*)row 0"),
            ("start,end\n100,200\n", r"outside the recording(?s:.*)0 to 10\.000 s"),
            ("begin,end\n1,2\n", "no column start"),
            ("start,end\nnan,2\n", "start is no number"),
            ("", "no column start"),
        ],
    )
    def test_bad_rows_are_named(self, tmp_path: Path, rows: str, says: str) -> None:
        with pytest.raises(MappingError, match=says):
            cut_episodes(self.recording(tmp_path, rows), Mapping((STATE,), self.by))

    def test_a_missing_table(self, tmp_path: Path) -> None:
        recording = MemoryRecording([state(TEN)], path=str(tmp_path / "session.mcap"))
        with pytest.raises(MappingError, match=r"spans\.csv"):
            cut_episodes(recording, Mapping((STATE,), self.by))
        with pytest.raises(MappingError, match="names no table"):
            cut_episodes(recording, Mapping((STATE,), EpisodeCut(Cut.SPANS)))


def test_instructions_come_from_the_task_feature() -> None:
    task = Feature("task", "/instruction", Role.REFERENCE, "text")
    instruction = texts((0.5, "first"), (4.5, "second"), name="/instruction")
    marks = texts((0.2, "start"), (2, "stop"), (5, "start"), (6, "stop"))
    by = EpisodeCut(Cut.TOPIC, "/episode", start="start", stop="stop")
    spans = cut_episodes(MemoryRecording([state(TEN), instruction, marks]), Mapping((STATE, task), by))
    assert [span.instruction for span in spans] == ["first", "second"]
