"""Whether a mapping fits a recording: every problem at once, with the line where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.core.errors import MappingError
from twinloop.core.kinds import PAYLOAD_KINDS, Kind
from twinloop.core.mapping import Cut, Feature, Mapping
from twinloop.core.toml_lines import TomlLines
from twinloop.formats.mapping.elements import NO_MATRIX, ElementError, picker
from twinloop.formats.mapping.episodes import cut_episodes
from twinloop.formats.mapping.extent import require_stream
from twinloop.formats.mapping.feature import find_stream, scale
from twinloop.formats.mapping.sample import first_batches

if TYPE_CHECKING:
    from twinloop.core.recording import Recording
    from twinloop.core.stream import Stream

#: Seconds of a stream that are read to see its columns and names.
SAMPLE_S = 2.0


def check_mapping(mapping: Mapping, recording: Recording, file: Path | str | None = None) -> None:
    """Check a mapping against a recording, reading no more than the start of each stream it names.

    Args:
        file: where the mapping was read from, to give the lines of what is wrong.

    Raises:
        MappingError: something does not fit; the message lists everything that does not.
    """
    problems: list[tuple[tuple[str | int, ...], MappingError]] = [
        (("features", index, key), problem)
        for index, feature in enumerate(mapping.features)
        for key, problem in _feature_problems(feature, recording)
    ]
    if (problem := _cut_problem(mapping, recording)) is not None:
        problems.append((("episodes",), problem))
    if not problems:
        return
    lines = TomlLines(Path(file).read_text(encoding="utf-8-sig") if file else "")
    if len(problems) == 1:
        place, problem = problems[0]
        line = lines.line(*place)
        where = f"{file}, line {line}" if line else str(file or recording.path)
        raise MappingError(problem.what, where=where, expected=problem.expected, fix=problem.fix)
    told = [
        f"{f'line {line}: ' if (line := lines.line(*place)) else ''}{problem}".replace("\n", "\n  ")
        for place, problem in problems
    ]
    raise MappingError(
        f"the mapping does not fit the recording in {len(problems)} places:\n  " + "\n  ".join(told),
        where=f"{file} for {recording.path}" if file else str(recording.path),
    )


def _feature_problems(feature: Feature, recording: Recording) -> list[tuple[str, MappingError]]:
    """What is wrong with one feature, each with the key to blame."""
    try:
        stream = find_stream(recording, feature)
    except MappingError as error:
        return [("stream", error)]
    repeated = sorted({name for name in feature.names if feature.names.count(name) > 1})
    if repeated:
        return [("names", MappingError(f"feature {feature.name} names {', '.join(repeated)} more than once"))]
    if stream.kind in NO_MATRIX:
        return _by_reference_problems(feature, stream)
    return _matrix_problems(feature, stream, recording)


def _by_reference_problems(feature: Feature, stream: Stream) -> list[tuple[str, MappingError]]:
    if stream.kind is Kind.RAW:
        error = MappingError(
            f"feature {feature.name}: the messages of {stream.name} ({stream.type_name}) were not decoded",
            fix="give their definitions with --types DIR",
        )
        return [("stream", error)]
    if stream.kind in PAYLOAD_KINDS and feature.field is not None:
        error = MappingError(
            f"feature {feature.name}: a stream of kind {stream.kind.value} is taken whole",
            fix=f"take out the line field = {feature.field!r}",
        )
        return [("field", error)]
    return []


def _matrix_problems(feature: Feature, stream: Stream, recording: Recording) -> list[tuple[str, MappingError]]:
    elements = picker(stream, feature)
    try:
        batches = first_batches(recording, stream.name, SAMPLE_S)
        for batch in batches:
            elements.pick(batch)
        if batches:
            elements.finish()
    except ElementError as error:
        return [(error.key, error)]
    try:
        for column in dict.fromkeys(elements.columns):
            scale(stream, column, feature)
    except MappingError as error:
        return [("unit", error)]
    return []


def _cut_problem(mapping: Mapping, recording: Recording) -> MappingError | None:
    cut = mapping.episodes
    try:
        if cut.by is Cut.GAPS and cut.stream is not None:
            require_stream(recording, cut.stream, cut.by)
        elif cut.by in (Cut.MARKED, Cut.TOPIC, Cut.SPANS):
            cut_episodes(recording, Mapping(mapping.features, cut))
    except MappingError as error:
        return error
    return None
