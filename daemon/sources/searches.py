"""The children that look where runs save (:mod:`.programs.save_search`), which all runs share.

A look is a tenth of a second of CPU and the start of its child three times as much, so the child that
has looked for one run looks for the next. One that got stuck on a dead mount, or died, is not used for
another run: what brought it down may be what it was asked.
"""

from __future__ import annotations

from collections.abc import Callable

from ..system.worker import JsonWorker, module_argv

SEARCH_ARGV = module_argv("middlewatch.daemon.sources.programs.save_search")
SEARCH_DEADLINE_S = 120.0
"""Seconds for one look, as for a verdict of the verifier: it lists for two seconds at most, but has
the lowest priority on a box whose processors are all busy."""
AT_ONCE = 2
"""Runs that are looked at at the same time: 300 at once kept a box of two cores busy for minutes. Our
choice."""
LOOK_S = 1.0
"""Seconds between two looks whether a child that nobody uses has ended by itself."""


def searcher() -> JsonWorker:
    """One child, started when it is asked."""
    return JsonWorker(SEARCH_ARGV, SEARCH_DEADLINE_S, walls="save-search", can_wait=True)


class Searches:
    """At most ``most`` children, lent to one run at a time; a run that gets none asks at its next turn."""

    def __init__(self, most: int = AT_ONCE, made: Callable[[], JsonWorker] = searcher) -> None:
        self._most = most
        self._made = made
        self._idle: list[JsonWorker] = []
        self._lent: list[JsonWorker] = []
        self._looked_at = 0.0

    def free(self) -> bool:
        """Whether one more run may be looked at now."""
        return len(self._lent) < self._most

    def lend(self) -> JsonWorker:
        """A child for one question; one that lives, if there is one. To be given back or dropped."""
        self._idle.sort(key=lambda worker: worker.alive)
        worker = self._idle.pop() if self._idle else self._made()
        self._hear(worker)
        self._lent.append(worker)
        return worker

    def give_back(self, worker: JsonWorker) -> None:
        """It has answered, or could not be started."""
        if worker in self._lent:
            self._lent.remove(worker)
            self._idle.append(worker)

    def drop(self, worker: JsonWorker) -> None:
        """It did not answer, or died, or its run is over: end it, and use another one."""
        if worker in self._lent:
            self._lent.remove(worker)
        worker.close()

    def look_after(self, now: float) -> None:
        """Reap what has ended by itself; cheap, as every run calls it every second."""
        if self._idle and not 0 <= now - self._looked_at < LOOK_S:
            self._looked_at = now
            for worker in self._idle:
                self._hear(worker)

    def close(self) -> None:
        """End all children."""
        for worker in (*self._idle, *self._lent):
            worker.close()
        self._idle.clear()
        self._lent.clear()

    def _hear(self, worker: JsonWorker) -> None:
        """Notice its end: nobody waits on the pipe of a child that nobody uses."""
        if worker.alive:
            worker.answers()
