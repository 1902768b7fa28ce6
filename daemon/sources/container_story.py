"""What became of one start of a container, put together from what its engine says. Times in ns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from middlewatch.sentinels.kit import ContainerSeen


@dataclass(frozen=True, slots=True)
class Told:
    """The state of a container, as the child tells it. Times in nanoseconds since the epoch, 0: never."""

    name: str
    image: str = ""
    pid: int = 0
    """Its first process, as the box numbers it; 0 while it does not run."""
    status: str = ""
    paused: bool = False
    oom: bool = False
    exit_code: int = 0
    error: str = ""
    started: int = 0
    finished: int = 0
    restarts: int = 0
    policy: str = ""
    retries: int = 0
    log: str = ""
    driver: str = ""
    auto_remove: bool = False
    tty: bool = False
    preemptible: bool = False
    """Its label says that it may be taken away at any time."""
    memory: int = 0
    """Its limit of memory in bytes; 0: none."""
    mounts: tuple[tuple[str, str], ...] = ()
    """(path in the container, path outside)."""
    events: tuple[tuple[int, str, str], ...] = ()
    """(time, action, exit code or signal), oldest first."""


RUNS = ("running", "paused", "restarting", "created")
KILLED_S = 60.0
"""Seconds before an end in which a signal through the engine counts as its cause, where no event says
that the container was stopped: programs save within that time (our choice)."""
FLUSH_NS = 2 * 10**9
"""Time after the end of a container in which an engine still writes what it has printed (its own limit,
moby ``daemon/monitor.go``). The event of an end comes after that."""
RESTART_NS = 5 * 10**9
"""Time after a start in which an engine says that it was the second half of ``docker restart``."""
NAME = re.compile(r"[A-Za-z0-9][\w.\-]{0,127}", re.ASCII)
"""Names that docker allows (RestrictedNamePattern); they are put into commands."""
_KILL = ("9", "SIGKILL", "KILL")
_ASK = ("15", "SIGTERM", "TERM")
_ENDING = (*_KILL, *_ASK)
"""Other signals ask a program to save, or to read its settings again."""


class Story:
    """One start of a container, from ``started`` on (0: not known yet, nothing is taken)."""

    def __init__(self, started: int) -> None:
        self.again: int | None = None
        """When it was started again."""
        self.exit_code: int | None = None
        self._started = started
        self._newest = 0
        self._signals: list[tuple[int, str]] = []
        self._paused: int | None = None
        self._oom: int | None = None
        self._ended: int | None = None
        self._flushed: int | None = None
        self._auto_remove = False
        self._after: set[str] = set()
        """Events after its end."""

    @property
    def died(self) -> bool:
        """The engine has told of its end."""
        return self._ended is not None

    @property
    def until(self) -> int | None:
        """Records of its log from this time on are of the next start; ``None``: not known yet. An end
        alone is not enough: the state of a container is told before its log is whole."""
        known = [at for at in (self.again, self._flushed) if at is not None]
        return min(known, default=None)

    def add(self, events: Iterable[tuple[int, str, str]]) -> None:
        """Take new events, oldest first; those that were taken, or are of an earlier start, are left
        out."""
        for at, action, detail in events:
            if at <= self._newest or at < self._started or not self._started:
                continue
            self._newest = at
            if self.again is not None and at >= self.again:
                # Of the next start; but how that came about is told after it.
                if action == "restart" and at - self.again <= RESTART_NS and "stop" in self._after:
                    self._after.add(action)
            else:
                self._take(at, action, detail)

    def _take(self, at: int, action: str, detail: str) -> None:
        """Take an event of this start, or the next start."""
        if action == "start":
            self.again = at if self._ended is not None else None
        elif action == "kill":
            self._signals.append((at, detail))
        elif action == "oom":
            self._oom = at
        elif action in ("pause", "unpause"):
            self._paused = at if action == "pause" else None
        elif action == "die":
            self._ended = self._flushed = at
            self.exit_code = int(detail) if detail.isdecimal() else None
        else:
            self._after.add(action)

    def note(self, told: Told, at: int) -> None:
        """Take the state of the container ``at`` that time: events may have been lost, as an engine
        keeps 256."""
        self._auto_remove = told.auto_remove
        if told.started > self._started:
            finished = told.finished if told.finished > self._started else told.started
            self._ended = self._ended or finished
            # The event of a start comes a moment after the time that the state has.
            self.again = told.started if self.again is None else min(self.again, told.started)
            self._paused = None
            return
        if told.status not in RUNS and told.finished >= self._started:
            if self._ended is None:
                self._ended, self.exit_code = told.finished, told.exit_code
            elif self._flushed is None:  # told twice, and its event has not come
                self._flushed = told.finished + FLUSH_NS
        if told.oom and self._oom is None and self._ended is not None:
            self._oom = self._ended
        if not told.paused:
            self._paused = None
        elif self._paused is None:
            self._paused = at

    def removed(self, at: int) -> None:
        """The engine does not know the container any more."""
        self._ended = self._ended or at
        self._flushed = self._flushed or at

    def seen(self, now: float, told: Told) -> ContainerSeen:
        """All of it as an observation."""
        policy = "" if told.policy == "no" else told.policy
        policy += f":{told.retries}" if policy == "on-failure" and told.retries else ""
        return ContainerSeen(
            at=now,
            name=told.name,
            status=told.status,
            paused_at=None if self._ended else _s(self._paused),
            oom_at=_s(self._oom),
            limit_bytes=told.memory or None,
            exit_code=self.exit_code,
            ended_at=_s(self._ended),
            ended_by=self._ended_by(),
            again_at=_s(self.again),
            policy=policy,
            restarts=told.restarts,
            preempted_at=_s(self._asked()) if told.preemptible else None,
        )

    def _asked(self) -> int | None:
        """When it was first asked to end, with SIGTERM."""
        return next((at for at, signal in self._signals if signal in _ASK), None)

    def _ended_by(self) -> str:
        """The command through which the engine has ended it."""
        if self._ended is None:
            return ""
        if "restart" in self._after:
            return "docker restart"
        if "stop" in self._after:
            return "docker stop"
        near = [s for at, s in self._signals if self._ended - at <= KILLED_S * 1e9]
        near = [s for s in near if s in _ENDING or s == str((self.exit_code or 0) - 128)]
        if not near:
            return ""
        if near[0] in _KILL:
            removed = "destroy" in self._after and not self._auto_remove
            return "docker rm -f" if removed else "docker kill"
        return "docker stop"


def _s(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9
