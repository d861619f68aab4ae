"""Check reports as artefacts: one a recording, counting episodes by the recording's own order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from twinloop.core.errors import StoreError
from twinloop.core.finding import CheckReport, Finding, RuleNote

if TYPE_CHECKING:
    from twinloop.store.manifest import Manifest, RecordingEntry
    from twinloop.store.objects import Objects


def encode_report(report: CheckReport) -> bytes:
    """A report in its contract's JSON."""
    return msgspec.json.format(msgspec.json.encode(report.to_json()), indent=1) + b"\n"


def decode_report(data: bytes) -> CheckReport:
    """The report that `encode_report` wrote."""
    content = msgspec.json.decode(data)
    return CheckReport(
        path=content["path"],
        session=content["session"],
        findings=tuple(Finding.from_json(finding) for finding in content["findings"]),
        not_run=tuple(RuleNote(note["code"], note["why"]) for note in content["not_run"]),
        failed=tuple(RuleNote(note["code"], note["why"]) for note in content["failed"]),
    )


def recording_report(objects: Objects, manifest: Manifest, recording: RecordingEntry) -> CheckReport:
    """What the checks said of one recording, its findings on the session's episode numbers.

    Findings on episodes, or spans, that a split took to another session are left out.

    Raises:
        StoreError: the report is missing or damaged.
    """
    if recording.report is None:
        return CheckReport(recording.name, manifest.session)
    try:
        report = decode_report(objects.get(recording.report.key))
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"a report is damaged: {error}", where=recording.report.key, fix="run `twinloop store fsck`"
        ) from error
    numbers = {episode.id: episode.index for episode in manifest.episodes}
    findings = []
    for finding in report.findings:
        if finding.episode is not None and finding.episode < len(recording.episodes):
            number = numbers.get(recording.episodes[finding.episode])
            if number is None:
                continue
            finding = replace(finding, episode=number)
        elif _outside(finding, recording):
            continue
        findings.append(finding)
    return replace(report, session=manifest.session, findings=tuple(findings))


def session_report(objects: Objects, manifest: Manifest, path: str) -> CheckReport:
    """What the checks said of all recordings of a session."""
    reports = [recording_report(objects, manifest, recording) for recording in manifest.recordings]
    return CheckReport(
        path=path,
        session=manifest.session,
        findings=tuple(finding for report in reports for finding in report.findings),
        not_run=tuple(dict.fromkeys(note for report in reports for note in report.not_run)),
        failed=tuple(dict.fromkeys(note for report in reports for note in report.failed)),
    )


def _outside(finding: Finding, recording: RecordingEntry) -> bool:
    start, end = finding.start_ns, finding.end_ns if finding.end_ns is not None else finding.start_ns
    if start is None or end is None:
        return False
    return bool(
        (recording.end_ns is not None and start >= recording.end_ns)
        or (recording.start_ns is not None and end < recording.start_ns)
    )
