"""Gathers why rules did not run: one reason is told once, with the streams and episodes it holds for."""

from __future__ import annotations

from dataclasses import dataclass, field

from twinloop.core.finding import RuleNote

_NAMED = 3


@dataclass
class NotRun:
    """Reasons by rule.

    Attributes:
        episodes: how many there are: a reason that holds for all of them names none.
    """

    episodes: int = 0
    _streams: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _episodes: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, code: str, why: str, stream: str | None, episode: int | None) -> None:
        """Note that a rule lacked something, for one stream or all, in one episode or everywhere."""
        streams = self._streams.setdefault((code, why), [])
        episodes = self._episodes.setdefault((code, why), [])
        if stream is not None and stream not in streams:
            streams.append(stream)
        if episode is not None and episode not in episodes:
            episodes.append(episode)

    def notes(self) -> tuple[RuleNote, ...]:
        """One note for each rule and reason."""
        return tuple(
            RuleNote(code, self._told(code, why)) for code, why in sorted(self._streams, key=lambda key: key[0])
        )

    def _told(self, code: str, why: str) -> str:
        streams, episodes = self._streams[code, why], self._episodes[code, why]
        if streams:
            return f"{_few(streams)}: {why}"
        if not episodes or len(episodes) == self.episodes:
            return why
        return f"{why} (in {len(episodes)} of {self.episodes} episodes: {_few(list(map(str, episodes)))})"


def _few(words: list[str]) -> str:
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {more} more" if more > 0 else "")
