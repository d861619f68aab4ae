"""The suite that every reader must pass: a pytest class to subclass.

    class TestMyReader(ReaderConformance):
        reader = READER

        def make_sample(self, folder: Path) -> Sample:
            write_my_format(folder / "take.xyz")
            return Sample(folder / "take.xyz", {"/imu": ExpectedStream(Kind.IMU, 100)})

The sample should be small (it is damaged and read some hundred times) and hold every kind of stream that the
format can. pytest must be installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from twinloop.core.errors import MissingExtraError, TwinloopError, UnknownNameError, UnreadableError
from twinloop.core.kinds import GROUPED_KINDS, TIME_COLUMNS, Kind, StampSource
from twinloop.core.timeline import timeline_ns
from twinloop.formats.reader import FORMATS, GENERAL, ReadOptions, find_reader, open_recording, read_head
from twinloop.testing.conforming import problems_of_columns
from twinloop.testing.damaged import DECOYS, flip_bits, truncate, write_decoy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from twinloop.core.recording import Recording
    from twinloop.core.stream import Batch
    from twinloop.formats.reader import Reader

#: Packages that a reader's module may not import before `open` needs them.
HEAVY = ("av", "h5py", "mcap", "pyarrow.parquet", "rosbags", "scipy", "sqlalchemy", "zarr")
#: An index's first and last time may differ from the samples' by this.
_EDGE_NS = 1_000_000_000
#: Opening a large recording reads no more than this; scanning it holds no more than this.
_OPEN_BYTES = 16 << 20
_SCAN_BYTES = 200 << 20
_BATCH_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class ExpectedStream:
    """What a sample's stream holds. `times`: exactly the time columns that the source has (None: unchecked)."""

    kind: Kind
    count: int
    times: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A recording of the format: `path` is what is opened, `streams` what is in it, all of it.

    It is made in a folder of its own, which may hold companions (a mapping file); copies take all of it.
    """

    path: Path
    streams: Mapping[str, ExpectedStream]


class ReaderConformance:
    """Subclass it, name it ``Test...``, give `reader` and `make_sample`.

    Attributes:
        reader: the reader. options: to open with.
        says_what_is_lost: False for formats that cannot know that their end is missing (plain tables).
        extra_module: the module whose absence must give MissingExtraError, where `reader.extra` is set.
    """

    reader: ClassVar[Reader]
    options: ClassVar[ReadOptions] = ReadOptions()
    says_what_is_lost: ClassVar[bool] = True
    extra_module: ClassVar[str | None] = None

    def make_sample(self, folder: Path) -> Sample:
        """Write a small recording into an empty folder."""
        raise NotImplementedError

    def make_large_sample(self, folder: Path) -> Path | None:  # noqa: ARG002
        """Write a recording of some hundred megabytes, for the tests of memory; None: they are skipped."""
        return None

    @pytest.fixture(autouse=True)
    def _registered(self) -> Iterator[None]:
        """A reader without an entry point is known for the length of a test."""
        if self.reader.name in FORMATS.names():
            yield
            return
        FORMATS.register(self.reader.name)(self.reader)
        yield
        FORMATS.unregister(self.reader.name)

    @pytest.fixture
    def sample(self, tmp_path_factory: pytest.TempPathFactory) -> Sample:
        """The sample, made once for the class. Not to be changed: damage copies."""
        cls = type(self)
        if "_made" not in cls.__dict__:
            cls._made = self.make_sample(tmp_path_factory.mktemp("sample"))  # type: ignore[attr-defined]
        made: Sample = cls.__dict__["_made"]
        return made

    # Finding it

    def test_it_says_what_it_is(self) -> None:
        for said in (self.reader.name, self.reader.title, self.reader.keeps, self.reader.loses):
            assert said
            assert said == said.strip()
            assert "\n" not in said
        assert self.reader.extra is None or self.reader.extra

    def test_its_module_imports_nothing_heavy(self) -> None:
        module = type(self.reader).__module__
        if module not in sys.modules or getattr(sys.modules[module], "__file__", None) is None:
            pytest.skip("the reader's module is no file")
        code = f"import sys, {module}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "", "import them inside `open`"

    def test_it_knows_its_own_by_content(self, sample: Sample, tmp_path: Path) -> None:
        assert self.reader.sniff(sample.path, read_head(sample.path))
        copy = _copied(sample, tmp_path / "copy")
        if sample.path.is_dir() or len(list(copy.parent.iterdir())) == 1:
            copy = copy.rename(copy.with_name("renamed.bin"))
        assert find_reader(copy) is FORMATS.get(self.reader.name)

    def test_it_claims_nothing_else(self, tmp_path: Path) -> None:
        for name in DECOYS:
            path = write_decoy(name, tmp_path / name)
            assert not self.reader.sniff(path, read_head(path)), name
        assert not self.reader.sniff(tmp_path / "missing", b"")

    def test_no_other_reader_claims_it(self, sample: Sample) -> None:
        head = read_head(sample.path)
        claims = [name for name, reader in FORMATS if reader.sniff(sample.path, head)]
        assert [name for name in claims if name not in GENERAL or name == self.reader.name] == [
            self.reader.name
        ]

    # Reading it

    def test_it_opens_with_its_streams(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            assert recording.format == self.reader.name
            assert recording.path == sample.path
            assert {name: s.kind for name, s in recording.streams.items()} == {
                name: s.kind for name, s in sample.streams.items()
            }
            assert all(stream.name == name for name, stream in recording.streams.items())
            assert recording.files
            assert all(file.is_file() for file in recording.files)
            assert not recording.notes, "a sound recording has nothing to note"

    def test_a_scan_gives_every_sample_once_and_again(self, sample: Sample) -> None:
        expected = {name: stream.count for name, stream in sample.streams.items()}
        with self._open(sample.path) as recording:
            for _ in range(2):
                assert _counts(recording.scan(), recording) == expected
            assert not recording.notes

    def test_what_the_index_declares_is_there(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            times = _times(recording)
            for name, stream in recording.streams.items():
                count = len(times[name])
                if stream.kind in GROUPED_KINDS and count:  # several rows a message; messages are counted
                    count = len(recording.read(name, ["message"]).column("message").unique())
                assert stream.count in (None, count), name
                if not len(times[name]) or stream.start_ns is None or stream.end_ns is None:
                    continue
                early = int(times[name].min()) - stream.start_ns
                late = stream.end_ns - int(times[name].max())
                assert min(early, late) >= -_EDGE_NS, name
                assert stream.kind in (Kind.TEXT, Kind.EVENT) or max(early, late) <= _EDGE_NS, name

    def test_only_the_named_streams_are_scanned(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            for name, stream in sample.streams.items():
                assert _counts(recording.scan([name]), recording)[name] == stream.count
                assert {batch.stream for batch in recording.scan([name])} <= {name}
            assert not list(recording.scan([]))

    def test_a_name_that_is_not_there_is_refused(self, sample: Sample) -> None:
        with self._open(sample.path) as recording, pytest.raises(UnknownNameError):
            list(recording.scan(["no such stream"]))

    def test_bulk_bytes_can_be_left_out(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            whole = {name: recording.streams[name].has_payload for name in recording.streams}
            for batch in recording.scan():
                assert (batch.payload is not None) == whole[batch.stream], batch.stream
                assert batch.payload is None or len(batch.payload) == len(batch)
            for batch in recording.scan(payload=False):
                assert batch.payload is None

    def test_a_window_of_time_gives_the_samples_within(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            for name, all_times in _times(recording).items():
                if not len(all_times):
                    continue
                start, end = (int(t) for t in np.quantile(all_times, [0.3, 0.7], method="nearest"))
                inside = np.sort(all_times[(all_times >= start) & (all_times < end)])
                got = _times(recording, [name], start_ns=start, end_ns=end)[name]
                np.testing.assert_array_equal(np.sort(got), inside, err_msg=name)
                after = _times(recording, [name], start_ns=end)[name]
                assert len(after) == (all_times >= end).sum(), name

    def test_columns_are_as_the_kinds_say(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            seen: dict[str, pa.Schema] = {}
            for batch in recording.scan(payload=False):
                schema = batch.columns.schema
                assert not problems_of_columns(recording.streams[batch.stream], schema)
                known = seen.setdefault(batch.stream, schema)
                assert schema.names == known.names, f"the columns of {batch.stream} change between batches"

    def test_times_are_the_source_s_own(self, sample: Sample) -> None:
        """Absent rather than filled from one another; so two columns never hold the same times."""
        with self._open(sample.path) as recording:
            for name, expected in sample.streams.items():
                table = recording.read(name)
                if not table.num_rows:
                    continue
                there = {c: table.column(c) for c in TIME_COLUMNS if c in table.schema.names}
                there = {c: v for c, v in there.items() if v.null_count < len(v)}
                if expected.times is not None:
                    assert set(there) == expected.times, name
                    continue
                for a in there:
                    for b in there:
                        assert a >= b or not there[a].equals(there[b]), f"{name}: {a} is {b}"

    def test_read_gives_the_whole_stream(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            for name, expected in sample.streams.items():
                assert recording.read(name).num_rows == expected.count
                timeline = recording.streams[name].timeline
                if timeline in recording.read(name).column_names:
                    assert recording.read(name, [timeline]).num_columns == 1
                elif expected.count:
                    assert recording.streams[name].stamp_source is StampSource.NONE

    def test_attachments_can_be_read(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            for attachment in recording.attachments:
                assert len(recording.read_attachment(attachment)) == attachment.size

    # Resources

    def test_closing_lets_go_of_the_files(self, sample: Sample) -> None:
        if not Path("/proc/self/fd").is_dir():
            pytest.skip("open files are counted through /proc")
        before = _open_files(sample)
        with self._open(sample.path) as recording:
            scan = recording.scan()
            next(scan, None)
            scan.close()  # type: ignore[attr-defined]
            list(recording.scan())
        assert _open_files(sample) == before

    def test_batches_are_bounded(self, sample: Sample) -> None:
        with self._open(sample.path) as recording:
            assert all(batch.columns.nbytes <= _BATCH_BYTES for batch in recording.scan(payload=False))

    def test_a_large_recording_opens_by_its_index_and_is_scanned_in_flat_memory(self, tmp_path: Path) -> None:
        path = self.make_large_sample(tmp_path)
        if path is None:
            pytest.skip("the class makes no large sample")
        code = (
            "import resource, sys\n"
            "from pathlib import Path\n"
            "from twinloop.formats.reader import open_recording\n"
            "read = lambda: int(Path('/proc/self/io').read_text().split()[1])\n"
            "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
            "start = read()\n"
            "recording = open_recording(Path(sys.argv[1]))\n"
            "opened, before = read() - start, peak()\n"
            "rows = sum(len(batch) for batch in recording.scan())\n"
            "print(opened, peak() - before, rows)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        opened, grown, rows = map(int, done.stdout.split())
        assert rows
        assert opened <= _OPEN_BYTES, f"{opened} bytes read to open it"
        assert grown <= _SCAN_BYTES, f"{grown} bytes of memory to scan it"

    def test_a_missing_dependency_names_its_extra(
        self, sample: Sample, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if self.reader.extra is None:
            return
        assert self.extra_module, "name the module in `extra_module`"
        for module in list(sys.modules):
            if module == self.extra_module or module.startswith(self.extra_module + "."):
                monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, self.extra_module, None)
        with pytest.raises(MissingExtraError) as caught:
            self.reader.open(sample.path, self.options)
        assert caught.value.extra == self.reader.extra

    # Bad input

    @pytest.mark.parametrize("part", [0.0, 0.1, 0.35, 0.6, 0.85, 1.0])
    def test_a_truncated_file_gives_what_is_left_or_an_error(
        self, sample: Sample, tmp_path: Path, part: float
    ) -> None:
        for number, name in enumerate(_file_names(sample)):
            copy = _copied(sample, tmp_path / str(number))
            truncate(copy.parent / name, part)
            self._read_damaged(copy, sample, f"{name} cut at {part:.0%}")

    @pytest.mark.parametrize("seed", range(8))
    def test_flipped_bits_give_what_is_left_or_an_error(
        self, sample: Sample, tmp_path: Path, seed: int
    ) -> None:
        for number, name in enumerate(_file_names(sample)):
            copy = _copied(sample, tmp_path / str(number))
            flip_bits(copy.parent / name, seed)
            self._read_damaged(copy, None, f"{name} with flipped bits, seed {seed}")

    def test_a_file_that_is_missing_gives_what_is_left_or_an_error(
        self, sample: Sample, tmp_path: Path
    ) -> None:
        for number, name in enumerate(_file_names(sample)):
            copy = _copied(sample, tmp_path / str(number))
            (copy.parent / name).unlink()
            if not copy.exists():
                continue  # nothing is left to open
            self._read_damaged(copy, None, f"without {name}")

    def test_what_the_system_refuses_is_an_error(self, sample: Sample, tmp_path: Path) -> None:
        with pytest.raises(UnreadableError):
            open_recording(tmp_path / "missing", self.options)
        if os.geteuid() == 0 or sample.path.is_dir():
            return  # root may read everything
        copy = _copied(sample, tmp_path / "copy")
        copy.chmod(0)
        with pytest.raises(UnreadableError):
            open_recording(copy, self.options)

    def _open(self, path: Path) -> Recording:
        return self.reader.open(path, self.options)

    def _read_damaged(self, path: Path, sample: Sample | None, what: str) -> None:
        """Open and scan; only errors meant for users may come, and what is missing is said."""
        try:
            with self._open(path) as recording:
                counts = _counts(recording.scan(), recording)
                notes = list(recording.notes)
        except TwinloopError:
            return
        except Exception as error:
            raise AssertionError(f"{what}: a user would see {type(error).__name__}: {error}") from error
        if sample is None or not self.says_what_is_lost:
            return
        missing = {
            n: s.count - counts.get(n, 0) for n, s in sample.streams.items() if counts.get(n, 0) < s.count
        }
        assert not missing or notes, f"{what}: {missing} samples are gone and nothing is noted"


def _counts(batches: Iterator[Batch], recording: Recording) -> dict[str, int]:
    counts = dict.fromkeys(recording.streams, 0)
    for batch in batches:
        counts[batch.stream] += len(batch)
    return counts


def _times(
    recording: Recording,
    names: list[str] | None = None,
    *,
    start_ns: int | None = None,
    end_ns: int | None = None,
) -> dict[str, np.ndarray]:
    """Times (N,) int64 ns of every stream on its timeline."""
    runs: dict[str, list[np.ndarray]] = {name: [] for name in names or recording.streams}
    for batch in recording.scan(names, start_ns=start_ns, end_ns=end_ns, payload=False):
        runs[batch.stream].append(timeline_ns(recording.streams[batch.stream], batch.columns))
    return {n: np.concatenate(parts) if parts else np.empty(0, np.int64) for n, parts in runs.items()}


def _copied(sample: Sample, to: Path) -> Path:
    """A copy of the sample with its companions; the path to open."""
    shutil.copytree(_home(sample), to)
    return to / sample.path.relative_to(_home(sample))


def _home(sample: Sample) -> Path:
    """The folder that was made for the sample."""
    return sample.path.parent


def _file_names(sample: Sample) -> list[Path]:
    """The sample's files, relative to its folder."""
    home = _home(sample)
    return sorted(file.relative_to(home) for file in home.rglob("*") if file.is_file())


def _open_files(sample: Sample) -> int:
    """How many files of the sample this process holds open."""
    home = str(_home(sample).resolve())
    held = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            held += str(link.readlink()).startswith(home)
        except OSError:
            continue
    return held
