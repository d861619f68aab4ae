"""The account as a page to read: ``ACCOUNT.md``, and what a dry run prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from twinloop.deliver.account import Account, EpisodeAccount

#: Episodes with something to say that the page lists; the rest are in account.json.
_LISTED = 50
#: Episodes left out for one reason that it names.
_NAMED = 8


def account_text(account: Account) -> str:
    """The account in Markdown."""
    parts = [
        _head(account),
        _warnings(account),
        _cameras(account),
        _features(account),
        _episodes(account),
        _left_out(account),
        _lost(account),
        _sources(account),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(account: Account) -> str:
    would = "would have" if account.dry_run else "has"
    seconds = account.rows / account.fps
    return (
        f"# What this export {'would do' if account.dry_run else 'did'} to the recordings\n\n"
        f"The dataset {would} {len(account.episodes)} episodes, {account.rows} rows, {seconds:.1f} s at "
        f"{account.fps} rows a second.\n\n"
        f"- Rows: {account.clock}. {_times(account)}\n"
        f"- Observations: {_ALIGNED[account.align]}. Actions hold: the latest at or before the row.\n"
        f"- Oldest sample allowed: {_age(account.max_age_ms)}. Invalid rows: {account.invalid_rows}."
    )


def _times(account: Account) -> str:
    said = f"the true time of a row lies at most {account.largest_true_minus_grid_ms:.3f} ms from there."
    if account.grid:
        return f"{account.format} puts row k at k / {account.fps} s; {said}"
    return f"Each row carries its true time. Trainers that take row k for k / {account.fps} s: {said}"


_ALIGNED = {
    "latest": "the latest sample at or before the row",
    "nearest": "the nearest sample, which may lie in the future of the row",
    "interp": "interpolated between the samples around the row (images: the nearest), of which one lies in "
    "the future of the row",
}


def _age(max_age_ms: float | None) -> str:
    return "any (no --max-age)" if max_age_ms is None else f"{max_age_ms:g} ms"


def _warnings(account: Account) -> str:
    if not account.warnings:
        return ""
    return "## Warnings\n\n" + "\n".join(f"- {warning}" for warning in account.warnings)


def _cameras(account: Account) -> str:
    if not account.cameras:
        return ""
    headings = ["camera", *next(iter(account.cameras.values())).cells()]
    lines = [
        "## Cameras",
        "",
        "Remuxed, own bytes: the recording's own images, byte by byte; at most their times are set anew.",
        "",
        f"| {' | '.join(headings)} |",
        "|" + "---|" * len(headings),
    ]
    lines += [f"| {' | '.join([name, *camera.cells().values()])} |" for name, camera in account.cameras.items()]
    lines += [f"\n{said}" for name, camera in account.cameras.items() for said in camera.remarks(name)]
    return "\n".join(lines)


def _features(account: Account) -> str:
    if not account.features:
        return ""
    lines = [
        "## Numbers",
        "",
        "| feature | taken | mean age | oldest | after its row, at most | rows too old | rows not finite |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {feature.align} | {feature.mean_age_ms:.3f} ms | {feature.oldest_ms:.3f} ms "
        f"| {feature.latest_after_row_ms:.3f} ms | {feature.too_old} | {feature.not_finite} |"
        for name, feature in account.features.items()
    ]
    return "\n".join(lines)


def _episodes(account: Account) -> str:
    notes = []
    for episode in account.episodes:
        said = []
        if episode.parts > 1:
            after = f", after a gap of {episode.after_gap_s:.3f} s" if episode.after_gap_s else ""
            said.append(f"part {episode.part + 1} of {episode.parts}{after}")
        if episode.trimmed_rows:
            said.append(f"starts {episode.trimmed_rows} rows later, when every feature has a sample")
        if episode.filled_rows:
            said.append(f"{episode.filled_rows} rows fill gaps")
        said += _reencoded(account, episode)
        if episode.invalid_rows:
            spans = ", ".join(f"{start} to {stop - 1}" for start, stop in episode.invalid_rows[:10])
            more = ", ..." if len(episode.invalid_rows) > 10 else ""
            said.append(f"invalid rows {spans}{more}")
        if said:
            notes.append(f"- {episode.episode_index} ({episode.episode}): {'. '.join(said)}.")
    if not notes:
        return ""
    more = f"\n- and {len(notes) - _LISTED} more: see account.json" if len(notes) > _LISTED else ""
    return "## Episodes\n\n" + "\n".join(notes[:_LISTED]) + more


def _reencoded(account: Account, episode: EpisodeAccount) -> list[str]:
    """Why cameras were re-encoded here; what holds for all episodes stands in the table of cameras."""
    said = []
    for name, camera in episode.cameras.items():
        reasons = camera.get("reasons", {})
        assert isinstance(reasons, dict)
        everywhere = account.cameras[name].reasons
        own = [why for reason, why in reasons.items() if everywhere[reason] < len(account.episodes)]
        if own:
            said.append(f"{name} re-encoded: {'; '.join(own)}")
    return said


def _left_out(account: Account) -> str:
    if not account.left_out:
        return ""
    together: dict[tuple[str, str], list[str]] = {}
    for left in account.left_out:
        together.setdefault((left.session, left.why), []).append(left.episode)
    lines = []
    for (session, why), episodes in together.items():
        more = f" and {len(episodes) - _NAMED} more" if len(episodes) > _NAMED else ""
        lines.append(f"- session {session}: {', '.join(episodes[:_NAMED])}{more}: {why}")
    if len(lines) > _LISTED:
        lines = [*lines[:_LISTED], f"- and {len(lines) - _LISTED} more: see account.json"]
    return "## Left out\n\n" + "\n".join(lines)


def _lost(account: Account) -> str:
    if not account.lost:
        return ""
    return f"## What {account.format} has no place for\n\n" + "\n".join(f"- {item}" for item in account.lost)


def _sources(account: Account) -> str:
    lines = [f"- session {session}: {', '.join(recordings)}" for session, recordings in account.sources.items()]
    return "## Sources\n\n" + "\n".join(lines) if lines else ""
