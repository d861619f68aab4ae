"""Every combination of features that the specification allows is read whole, without a note."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from mcap_variants import CONTENTS, Content, Features, all_features, build

from twinloop.core.kinds import Kind
from twinloop.core.recording import Recording
from twinloop.formats.reader import open_recording

COMPRESSIONS = ("", "zstd", "lz4")


def check(recording: Recording, content: Content) -> None:
    """All that the file holds is there, and nothing is said against it but what is so by design."""
    if content.messages:
        (stream,) = recording.streams.values()
        assert stream.name == "example"
        assert stream.kind is Kind.RAW
        assert stream.count in (None, content.messages)
        batches = list(recording.scan())
        assert [t for b in batches for t in b.columns.column("log_ns").to_pylist()] == [
            n + 10 for n in range(content.messages)
        ]
        assert [t for b in batches for t in b.columns.column("publish_ns").to_pylist()] == list(
            range(content.messages)
        )
        assert [t for b in batches for t in b.columns.column("seq").to_pylist()] == list(
            range(content.messages)
        )
    else:
        assert not recording.streams
        assert not list(recording.scan())
    assert [a.name for a in recording.attachments] == ["myFile"] * content.attachment
    for attachment in recording.attachments:
        assert recording.read_attachment(attachment) == b"\x01\x02\x03"
    assert recording.metadata.get("myMetadata/foo") == ("bar" if content.metadata else None)


def notes_of(recording: Recording) -> list[str]:
    """What is said against the file; what is left out, and messages of no known encoding, are not."""
    expected = ("kept raw", "has no summary", "has no index of", "does not describe channel")
    return [note.message for note in recording.notes if not any(each in note.message for each in expected)]


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_combination_is_read(tmp_path: Path, name: str, compression: str) -> None:
    path = tmp_path / "variant.mcap"
    content = CONTENTS[name]
    for features in all_features():
        if compression and not features.chunks:
            continue
        path.write_bytes(build(features, content, compression))
        with open_recording(path) as recording:
            check(recording, content)
            assert not notes_of(recording), (features.name, name, notes_of(recording))


def test_the_mcap_library_reads_them_too(tmp_path: Path) -> None:
    """A check of the generator: a sample of the files through the reference reader."""
    from mcap.reader import NonSeekingReader

    # It does not pass over the extra bytes of records inside chunks.
    plain = (f for f in all_features() if not (f.chunks and f.padded))
    for features, content in itertools.product(itertools.islice(plain, 0, None, 29), CONTENTS.values()):
        path = tmp_path / "variant.mcap"
        path.write_bytes(build(features, content))
        with path.open("rb") as file:
            reader = NonSeekingReader(file, validate_crcs=True)
            assert len(list(reader.iter_messages(log_time_order=False))) == content.messages


def test_there_are_as_many_as_the_specification_allows() -> None:
    assert len(list(all_features())) == 2**10 - 3 * 2**7
    assert Features(*[False] * 10).name == "bare"
