"""From a recording to staged artefacts: streams, video, mapping, episodes, the checks' report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop import __version__
from twinloop.core.errors import MappingError, UnreadableError, Where
from twinloop.core.finding import CheckReport, RuleNote
from twinloop.core.recording import Problem, ReadNote
from twinloop.store.attached import keep_attachments
from twinloop.store.commit import make_episodes
from twinloop.store.display_order import find_order
from twinloop.store.manifest import Manifest, RecordingEntry
from twinloop.store.places import Places
from twinloop.store.reports import encode_report
from twinloop.store.source_media import adopt_segments
from twinloop.store.stored import StoredSession
from twinloop.store.streams import RecordingWriter, UnmuxableError
from twinloop.store.writer import now, writer_name

if TYPE_CHECKING:
    from twinloop.core.mapping import Mapping
    from twinloop.core.recording import EpisodeSpan, Recording
    from twinloop.core.session import Episode
    from twinloop.engine.progress import Meter
    from twinloop.formats.reader import ReadOptions
    from twinloop.store.display_order import DisplayOrder
    from twinloop.store.manifest import Artefact, StreamEntry
    from twinloop.store.objects import Objects
    from twinloop.store.raw_files import RawFiles
    from twinloop.store.sources import IngestOptions
    from twinloop.store.streams import Layout


def read_options(options: IngestOptions) -> ReadOptions:
    """How to open a recording that is taken in with these options."""
    from twinloop.formats.reader import ReadOptions

    return ReadOptions(
        types_dir=options.types_dir,
        mapping=given_mapping(options),
        table_mapping=options.mapping if _maps_a_table(options) else None,
    )


def stated_options(options: IngestOptions) -> dict[str, str]:
    """What must be known beside a recording's files to make its artefacts anew: see `RecordingEntry.options`.

    ``images``; ``table``: the text of the file that says how to read a table; ``types``: the folder of message
    definitions.
    """
    stated = {"images": options.images}
    if options.mapping and _maps_a_table(options):
        stated["table"] = options.mapping.read_text()
    if options.types_dir:
        stated["types"] = str(options.types_dir.absolute())
    return stated


def given_mapping(options: IngestOptions) -> Mapping | None:
    """The features that a mapping file states; None for none, or one that says how to read a table."""
    from twinloop.core.mapping import load_mapping

    if options.mapping is None or _maps_a_table(options):
        return None
    return load_mapping(options.mapping)


def _maps_a_table(options: IngestOptions) -> bool:
    from twinloop.formats.table.sidecar import describes_table

    return options.mapping is not None and describes_table(options.mapping)


class Making:
    """The making of one recording's artefacts. `mapping`: holds whatever the options say."""

    def __init__(
        self,
        objects: Objects,
        path: Path,
        options: IngestOptions,
        meter: Meter,
        mapping: Mapping | None = None,
    ) -> None:
        self.objects = objects
        self.path = path
        self.options = options
        self.meter = meter
        self.mapping = mapping

    def make(self, recording: Recording, raw: RawFiles, layout: Layout) -> Manifest:
        """All artefacts in staging, and a manifest of this recording alone that names them.

        Raises:
            MappingError: the mapping does not fit the recording.
        """
        with self.meter.stage("reading", 0.6):
            streams, notes = self._scan(recording, raw, layout)
        attachments, attached = keep_attachments(recording, raw, layout)
        entry = RecordingEntry(
            hash=raw.hash,
            name=self.path.name,
            format=recording.format,
            files=raw.files,
            raw=self.options.raw,
            taken_at=now(),
            by=writer_name(),
            version=__version__,
            streams=streams,
            metadata=recording.metadata,
            calibration=recording.calibration,
            attachments=attachments,
            attached=attached,
            notes=(*recording.notes, *notes),
            options=stated_options(self.options),
        )
        draft = Manifest(layout.session, facts=self.options.facts, recordings=(entry,))
        staged = self._read_staged(draft, layout, recording, raw)
        mapping, source, spans = self.map_and_cut(staged)
        episodes = make_episodes(spans, raw.hash, self.options.outcome)
        with self.meter.stage("checking", 0.2):
            report = self._check(staged, mapping, episodes, layout)
        entry = replace(
            entry,
            mapping=mapping,
            mapping_source=source,
            episodes=tuple(episode.id for episode in episodes),
            report=report,
        )
        return replace(draft, recordings=(entry,), episodes=episodes)

    def _read_staged(
        self, draft: Manifest, layout: Layout, recording: Recording, raw: RawFiles
    ) -> StoredSession:
        """The staged artefacts as a recording that passes for the source: its path, its own episodes."""
        at_hand = {file.place: Path(file.url) for file in raw.files}
        staged = StoredSession(draft, (), self.objects, Places(self.objects, layout.staging, at_hand=at_hand))
        staged.path, staged.place = self.path, str(self.path)
        staged.episodes = recording.episodes
        staged.own_mapping = recording.own_mapping
        return staged

    def _scan(
        self, recording: Recording, raw: RawFiles, layout: Layout
    ) -> tuple[tuple[StreamEntry, ...], list[ReadNote]]:
        """The streams' artefacts, and notes on what could not be made of them."""
        packed: set[str] = set()
        orders: dict[str, DisplayOrder] = {}
        lossy = self.options.images == "h264"
        before = len(recording.notes)
        while True:
            writer = RecordingWriter(layout, packed=packed, lossy=lossy, orders=orders)
            try:
                notes = self._scan_once(recording, writer)
                entries = writer.close(list(recording.streams.values()))
            except UnmuxableError as error:
                # Once more: with the order of these packets, or, of a codec that does not mux, packed.
                if error.reordered and error.stream not in orders:
                    orders[error.stream] = find_order(recording, error.stream)
                else:
                    packed.add(error.stream)
                layout.clear()
                del recording.notes[before:]
                continue
            notes += writer.notes()
            return tuple(
                adopt_segments(entry, raw, layout) if entry.stream.segments and not entry.media else entry
                for entry in entries
            ), notes

    def _scan_once(self, recording: Recording, writer: RecordingWriter) -> list[ReadNote]:
        declared = sum(stream.count or 0 for stream in recording.streams.values())
        done = 0
        try:
            for batch in recording.scan():
                writer.append(recording.streams[batch.stream], batch)
                done += len(batch)
                if declared:
                    self.meter.at(done / declared)
        except UnreadableError as error:
            where = error.where if isinstance(error.where, Where) else Where(file=str(self.path))
            return [ReadNote(Problem.CORRUPT, error.what, where, lost=None)]
        return []

    def map_and_cut(self, recording: Recording) -> tuple[Mapping, str, list[EpisodeSpan]]:
        """The mapping, where it comes from (a file that was given, or a proposal), and the episodes.

        Raises:
            MappingError: a given mapping does not fit. A proposal that does not gives way to none.
        """
        from twinloop.core.mapping import Mapping
        from twinloop.formats.mapping.check import check_mapping
        from twinloop.formats.mapping.episodes import cut_episodes
        from twinloop.formats.mapping.propose import propose

        if self.mapping is not None:
            return self.mapping, "", cut_episodes(recording, self.mapping)
        if given := given_mapping(self.options):
            check_mapping(given, recording, self.options.mapping)
            return given, str(self.options.mapping), cut_episodes(recording, given)
        if own := recording.own_mapping:
            return own, "the recording's own", cut_episodes(recording, own)
        try:
            proposed = propose(recording)
            return proposed, "proposed", cut_episodes(recording, proposed)
        except MappingError as error:
            none = Mapping()
            return none, f"none could be proposed: {error.what}", cut_episodes(recording, none)

    def _check(
        self, recording: StoredSession, mapping: Mapping, episodes: tuple[Episode, ...], layout: Layout
    ) -> Artefact:
        from twinloop.checks.run import check

        try:
            report = check(recording, mapping=mapping, episodes=episodes, session=layout.session)
        except Exception as error:
            # The checks never keep a recording out of the store: what they could not do is in the report.
            failed = (RuleNote("checks", f"{type(error).__name__}: {error}"),)
            report = CheckReport(str(self.path), layout.session, failed=failed)
        path = layout.folder("reports") / "report.json"
        path.write_bytes(encode_report(report))
        return layout.artefact(path)
