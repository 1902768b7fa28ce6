"""Guards: child processes that reach into far file systems, so that only they get stuck there.

Each far file system has one guard per *lane* (kind of work), shared by all sources that need it: a
long search for checkpoints does not delay the reading of logs. A client has one open question at a
time. All questions that wait go to the child together, in one message, so that ten logs cost one
wake-up and not ten.

A question is lost when the child ends before it answers; the client asks again at its next turn. A
child that answers nothing for long is killed and replaced. One that cannot even be killed is left
behind (:mod:`.worker`), and there is never more than one per guard.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from . import procfs
from .clock import Clock, SystemClock
from .far import Far, FarMounts
from .kept_file import KeptFile
from .worker import JsonWorker

DEADLINE_S = 10.0
"""Seconds for the answers to one message; later the mount counts as stalled. A busy NFS server may
need some seconds; if it needs more than ten, nothing can be saved there either (our choice)."""
START_S = 30.0
"""The same for the first answer of a child: a fresh Python on a busy box needs seconds to start (12 s
measured with 18 runnable programs a core). As for the child of the driver."""
GIVE_UP_S = 300.0
"""Seconds overdue after which the child is replaced: the mount may have been mounted again, and the
old child would never get an answer."""
WRITES = "files"
"""The lane whose guards may change files."""
MOST_GUARDS = 8
"""Guards per lane: each takes 12 to 20 MB. The far file systems beyond share the last one."""

Question = Mapping[str, Any]
Answer = dict[str, Any]


class Guard:
    """One child and the questions to it. A client is a unique name."""

    def __init__(self, argv: Sequence[str], clock: Clock, walls: str = "far") -> None:
        self._clock = clock
        self._child = JsonWorker(argv, DEADLINE_S, start_deadline_s=START_S, walls=walls)
        self._heard_of = 0
        """The number of the newest child that has answered."""
        self._clients: set[str] = set()
        self._waiting: dict[str, Question] = {}
        self._sent: frozenset[str] = frozenset()
        self._since: dict[str, float] = {}
        """Client -> when its first unanswered question was asked, monotonic."""
        self._answers: dict[str, Answer] = {}
        self._forget: set[str] = set()

    def fileno(self) -> int | None:
        """The pipe through which the answers come; ``None`` without a child."""
        return self._child.fileno()

    @property
    def stuck_pid(self) -> int | None:
        """A killed child that does not end: it hangs in the kernel."""
        return self._child.stuck_pid

    def ask(self, client: str, question: Question) -> bool:
        """Ask; ``False`` while the previous question of this client is open."""
        self._clients.add(client)
        fresh = client not in self._waiting and client not in self._sent
        if fresh:
            self._waiting[client] = question
            self._since.setdefault(client, self._clock.monotonic())
        self.turn()
        return fresh

    def take(self, client: str) -> Answer | None:
        """The answer to the question of this client, once."""
        self.turn()
        return self._answers.pop(client, None)

    def late_s(self, client: str) -> float:
        """Seconds since the unanswered question was asked, if it is overdue; else 0."""
        since = self._since.get(client)
        waited = 0.0 if since is None else self._clock.monotonic() - since
        known = self._heard_of == self._child.starts
        if waited <= (DEADLINE_S if known else START_S) or self._is_starved():
            return 0.0
        return waited

    def _is_starved(self) -> bool:
        """True while the child waits for a CPU, and for no file system."""
        pid = self._child.pid
        try:
            seen = procfs.stat(pid) if pid is not None else None
        except OSError:
            return False
        return seen is not None and seen.state == "R"

    def leave(self, client: str) -> None:
        """This client asks no more. The child ends with its last client."""
        self._clients.discard(client)
        for known in (self._waiting, self._since, self._answers):
            known.pop(client, None)
        self._forget.add(client)
        if not self._clients:
            self.close()

    def turn(self) -> None:
        """Take what has arrived, replace a child that is lost, send what waits."""
        mono = self._clock.monotonic()
        for message in self._child.answers():
            told = message.get("answers")
            for client, answer in told.items() if isinstance(told, dict) else ():
                if client in self._sent and client in self._clients and isinstance(answer, dict):
                    self._answers[client] = answer
                    self._since.pop(client, None)
                    self._heard_of = self._child.starts
            self._sent = frozenset()
        if self._child.overdue(mono) > GIVE_UP_S:
            self._child.restart()
        if self._child.waiting:
            return
        self._sent = frozenset()
        if self._waiting:
            message = {"forget": sorted(self._forget), "questions": self._waiting}
            if self._child.ask(message, mono):
                self._sent = frozenset(self._waiting)
                self._waiting = {}
                self._forget.clear()

    def close(self) -> None:
        """Kill the child; safe to call twice."""
        self._child.close()
        self._sent = frozenset()
        self._forget.clear()


class Guards:
    """The guards of this process, and which paths need one.

    ``argv``: the command line of the child, which answers ``{"questions": {client: …}}`` with
    ``{"answers": {client: …}}``.
    """

    def __init__(
        self, argv: Sequence[str], clock: Clock | None = None, mounts: FarMounts | None = None
    ) -> None:
        self.mounts = mounts or FarMounts()
        self._argv = tuple(argv)
        self._clock = clock or SystemClock()
        self._turns: KeptFile | None = None
        with contextlib.suppress(OSError):  # a kernel without it: then nothing counts as slow
            path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
            self._turns = KeptFile(path, use=None)  # one for all logs, each of which reads it twice
        self._guards: dict[tuple[str, str], Guard] = {}

    def of(self, path: str, now: float) -> Far | None:
        """:meth:`.far.FarMounts.of`: ``None`` for a path that may be touched."""
        return self.mounts.of(path, now)

    def guard(self, far: Far, lane: str) -> Guard:
        """The guard for this kind of work on this file system."""
        known = self._guards.get((far.device, lane))
        if known is None:
            here = {id(g): g for (_, other), g in self._guards.items() if other == lane}
            full = len(here) >= MOST_GUARDS
            walls = "far-copies" if lane == WRITES else "far"
            known = [*here.values()][-1] if full else Guard(self._argv, self._clock, walls)
            self._guards[far.device, lane] = known
        return known

    def blocked_s(self) -> float:
        """Seconds for which this thread neither worked nor waited for a CPU, from some moment on.

        The difference before and after a call is the time that the call was blocked: that of a box
        with too few CPUs does not count.
        """
        if self._turns is None:
            return 0.0
        try:
            worked_ns, waited_ns = self._turns.read().split()[:2]
        except (OSError, ValueError):
            return 0.0
        busy_ns = procfs.parse_number(worked_ns) + procfs.parse_number(waited_ns)
        return self._clock.monotonic() - busy_ns / 1e9

    def close(self) -> None:
        """End all children."""
        for guard in self._guards.values():
            guard.close()
        if self._turns is not None:
            self._turns.close()
            self._turns = None
        self.mounts.close()
