"""The watch: whatever arrives, once complete, is taken in by worker processes, each content once.

For each arrival, in this order: noted as arrived; given to a worker, which takes it in as `ingest` does;
noted as what became of it; let go of by its source. A watch that dies anywhere is followed by
one that reads the notes and does again what has no outcome: content that the store has by then is found there
by its hash. A process that dies of a file is no end of the watch: the file is tried once more, alone, and
then kept in quarantine unread.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from twinloop.core.errors import StoreError, UnreachableError
from twinloop.engine.workers import Crash, Workers
from twinloop.store.outcome import Outcome, Status
from twinloop.store.watch.jobs import Job, work
from twinloop.store.watch.log import Said, WatchLog

if TYPE_CHECKING:
    from twinloop.engine.progress import Report
    from twinloop.store.arrivals.folder import Arrival
    from twinloop.store.store import Store
    from twinloop.store.watch.diary import Diary
    from twinloop.store.watch.sources import Source

_DEATHS = 2
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 5.0, 3600.0
_SAID = {
    Status.STORED: Said.STORED,
    Status.PRESENT: Said.PRESENT,
    Status.QUARANTINED: Said.QUARANTINED,
    Status.REFUSED: Said.REFUSED,
}
#: A look that takes long comes after so many times as long, so that looking leaves time for the rest.
_LOOKING_SHARE = 5
_DIGEST_PAUSE_S = 60.0
_UNREADABLE = 3  # the exit code of what may be better the next time
#: Files after which a worker gives way to a fresh one, and seconds of silence after which it is ended.
_LIFETIME, _PATIENCE_S = 1000, 6 * 3600.0


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How to watch. `once`: end when everything that is there is taken in. `interval_s`: between looks."""

    workers: int = 1
    interval_s: float = 2.0
    once: bool = False


@dataclass(slots=True)
class Tally:
    """Where the watch stands: counts by what became of it, and what waits.

    Attributes:
        counts: by what was said (`Said`). busy, queued, settling: of arrivals.
        unfinished, failing: name -> why. offline: why the store or a source cannot be reached.
        undigested: why the digests that are due could not be written.
    """

    counts: Counter[str] = field(default_factory=Counter)
    busy: int = 0
    queued: int = 0
    settling: int = 0
    unfinished: dict[str, str] = field(default_factory=dict)
    failing: dict[str, str] = field(default_factory=dict)
    offline: str = ""
    undigested: str = ""


@dataclass(slots=True)
class _Task:
    """An arrival of a source that is to be taken in. `refuse`: why it is kept unread instead."""

    source: Source
    log: WatchLog
    arrival: Arrival
    refuse: str = ""
    tries: int = 0
    not_before_s: float = 0.0

    @property
    def key(self) -> tuple[str, str]:
        return self.source.url, self.arrival.name

    @property
    def is_suspect(self) -> bool:
        """Whether a process died of it already: it is tried alone."""
        known = self.log.known.get(self.arrival.name)
        return known is not None and known.state == self.arrival.state and known.deaths > 0


class Watch:
    """Sources on their way into a store.

    Args:
        tell: gets the tally after each step. told: gets each outcome, with the arrival's name.
        stop: set to end after the files at hand.
        diary: writes the digests of the days that are over.
        worker: does a job for the store at a URL, in a process of its own.
    """

    def __init__(
        self,
        store: Store,
        sources: Sequence[Source],
        options: WatchOptions,
        diary: Diary,
        *,
        tell: Callable[[Tally], None] = lambda _: None,
        told: Callable[[str, Outcome], None] = lambda _, __: None,
        stop: threading.Event | None = None,
        worker: Callable[[str, Job, Report], Outcome] = work,
    ) -> None:
        self.tally = Tally()
        self._store = store
        self._sources = [(source, WatchLog(store.objects, source.url)) for source in sources]
        self._options = options
        self._diary = diary
        self._tell = tell
        self._told = told
        self._stop = stop or threading.Event()
        self._queue: dict[tuple[str, str], _Task] = {}
        self._working: dict[int, _Task] = {}
        self._number = 0
        self._next_digest_s = 0.0
        self._workers: Workers[Job, Outcome] = Workers(
            partial(worker, store.url), options.workers, lifetime=_LIFETIME, patience_s=_PATIENCE_S
        )

    def run(self) -> Tally:
        """Watch until stopped, or, with `once`, until all is taken in."""
        next_look_s = 0.0
        with self._workers:
            while True:
                if time.monotonic() >= next_look_s and not self._stop.is_set():
                    began_s = time.monotonic()
                    self._online(self._look)
                    took_s = time.monotonic() - began_s
                    next_look_s = began_s + max(self._options.interval_s, _LOOKING_SHARE * took_s)
                if not self._stop.is_set():
                    self._online(self._hand_out)
                if self._working:
                    for number, result in self._workers.hear(self._options.interval_s):
                        self._settle(self._working.pop(number), result)
                self._online(self._write_notes)
                self._write_digests()
                self._report()
                if not self._working and (self._stop.is_set() or self._is_over()):
                    break
                if not self._working:
                    self._stop.wait(max(0.0, next_look_s - time.monotonic()))
        return self.tally

    def _online(self, step: Callable[[], None]) -> None:
        """Do a step that needs the store or a source; one that is out of reach is waited for."""
        try:
            step()
        except (StoreError, UnreachableError) as error:
            self.tally.offline = str(error)
        else:
            if step == self._look:
                self.tally.offline = ""

    def _is_over(self) -> bool:
        return self._options.once and not (self.tally.queued or self.tally.settling or self.tally.offline)

    def _look(self) -> None:
        """Bring the queue up to date with what the sources have."""
        seen: set[tuple[str, str]] = set()
        settling = 0
        unfinished: dict[str, str] = {}
        working = {task.key for task in self._working.values()}
        for source, log in self._sources:
            look = source.look(log.is_done)
            settling += len(look.settling)
            unfinished |= {arrival.name: arrival.waits or "" for arrival in look.unfinished}
            for arrival in look.ready:
                key = (source.url, arrival.name)
                seen.add(key)
                if key in working:
                    continue
                known = self._queue.get(key)
                if known is None or known.arrival.state != arrival.state:
                    self._enqueue(_Task(source, log, arrival))
        self._queue = {key: task for key, task in self._queue.items() if key in seen}
        names = {name for _, name in seen | working}
        self.tally.failing = {name: why for name, why in self.tally.failing.items() if name in names}
        self.tally.settling, self.tally.unfinished = settling, unfinished
        self._write_notes()

    def _enqueue(self, task: _Task) -> None:
        arrival = task.arrival
        if not task.log.has_arrived(arrival.name, arrival.state):
            data = {"bytes": arrival.size, **({"unfinished": arrival.waits} if arrival.waits else {})}
            task.log.say(Said.ARRIVED, arrival.name, arrival.state, data)
            self.tally.counts[Said.ARRIVED] += 1
        known = task.log.known.get(arrival.name)
        if known and known.state == arrival.state and known.deaths >= _DEATHS:
            task.refuse = _killed(known.deaths)
        self._queue[task.key] = task

    def _hand_out(self) -> None:
        """Give free workers what is due, once all notes are written; suspects last, and each alone."""
        if not self._workers.free or not self._queue:
            return
        self._write_notes()
        now = time.monotonic()
        due = [task for task in self._queue.values() if task.not_before_s <= now]
        due.sort(key=lambda task: task.is_suspect)
        given: list[_Task] = []
        for task in due:
            if not self._workers.free - len(given) or any(t.is_suspect for t in self._working.values()):
                break
            if task.is_suspect and (self._working or given):
                break
            given.append(task)
            if task.is_suspect:
                break
        for task in given:
            task.log.say(Said.TAKEN, task.arrival.name, task.arrival.state)
            del self._queue[task.key]
            self._number += 1
            self._working[self._number] = task
            self._workers.give(self._number, replace(task.source.job(task.arrival), refuse=task.refuse))

    def _settle(self, task: _Task, result: Outcome | Crash) -> None:
        """Note what became of an arrival, and what follows from it."""
        if isinstance(result, Crash):
            self._crashed(task, result)
            return
        said = _SAID.get(result.status)
        name = task.arrival.name
        self._told(name, result)
        if said is None:
            if result.exit_code == _UNREADABLE:
                self._try_later(task, result.message)
            else:
                self._refuse(task, result.message)
            return
        self._note(task, said, _facts(result))
        self.tally.failing.pop(name, None)
        task.source.settled(task.arrival)

    def _crashed(self, task: _Task, crash: Crash) -> None:
        if not crash.died:
            self._refuse(task, crash.what)
        elif not self._stop.is_set():  # whoever stops the watch may have ended its workers too
            self._note(task, Said.DIED, {"message": crash.what})
            self.tally.failing[task.arrival.name] = crash.what
            if task.refuse:
                self._give_up(task, crash.what)
            else:
                self._enqueue(_Task(task.source, task.log, task.arrival))

    def _refuse(self, task: _Task, why: str) -> None:
        """Keep it unread; if that fails too, there is no more to do."""
        if task.refuse:
            self._give_up(task, why)
        else:
            task.refuse = why
            self._queue[task.key] = task

    def _give_up(self, task: _Task, why: str) -> None:
        self._note(task, Said.GIVEN_UP, {"message": why})
        self.tally.failing[task.arrival.name] = why

    def _try_later(self, task: _Task, why: str) -> None:
        self._note(task, Said.FAILED, {"message": why})
        self.tally.failing[task.arrival.name] = why
        pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(task.tries, 20))
        task.tries, task.not_before_s = task.tries + 1, time.monotonic() + pause_s
        self._queue[task.key] = task

    def _note(self, task: _Task, said: Said, data: dict[str, object]) -> None:
        task.log.say(said, task.arrival.name, task.arrival.state, data)
        self.tally.counts[said] += 1

    def _write_notes(self) -> None:
        for _, log in self._sources:
            log.flush()

    def _write_digests(self) -> None:
        """Write what is due, and try again in a minute where that cannot be done; nothing waits for it."""
        if time.monotonic() < self._next_digest_s:
            return
        try:
            self._diary.write_due()
            self.tally.undigested = ""
        except (StoreError, UnreachableError) as error:
            self.tally.undigested = str(error)
            self._next_digest_s = time.monotonic() + _DIGEST_PAUSE_S

    def _report(self) -> None:
        self.tally.busy = len(self._working)
        self.tally.queued = sum(not (self._options.once and task.tries) for task in self._queue.values())
        self._tell(self.tally)


def _killed(deaths: int) -> str:
    return f"the process that took it in died, {deaths} times; the last time it was alone"


def _facts(outcome: Outcome) -> dict[str, object]:
    """What is noted of an outcome."""
    facts: dict[str, object] = {
        "session": outcome.session,
        "recording": outcome.recording,
        "quarantine": outcome.quarantine,
        "format": outcome.format,
        "bytes": outcome.bytes,
        "episodes": outcome.episodes,
        "message": outcome.message or "; ".join(note.message for note in outcome.lost[:3]),
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}
