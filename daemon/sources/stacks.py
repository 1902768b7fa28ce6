"""Stacks of the processes of a run that is silent for too long, taken with py-spy.

This source exists only while a hang is judged, and takes the stacks of the processes in
:attr:`Stacks.wanted`. py-spy reads the memory of a process without pausing it. It is run by a child
with low priority, for one process at a time, and the child is killed when it does not answer in
time. Where ptrace is denied, or py-spy is missing, the source is unsupported and says why.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from middlewatch.sentinels.kit import Observation, StackSeen

from ..system.clock import Clock
from ..system.errors import Unsupported
from ..system.far import FarMounts
from ..system.source import Source
from ..system.worker import JsonWorker

DEADLINE_S = 5.0
"""Seconds for one stack. It takes 20 to 60 ms; py-spy waits if the process's memory is locked."""
EVERY_S = 5.0
"""Seconds between two stacks of one process; three of them show whether it spins or works."""
LATER_S = 30.0
"""The same after the first ``FIRST_LOOKS`` stacks, to check that the verdict still holds."""
FIRST_LOOKS = 6
MOST = 16
"""Processes looked at at most: the ranks of two full boxes, or of one with a few workers each."""
TRIES = 3
"""Failures after which a process is left alone (not Python, or its stack changed while read)."""
_CHILD = Path(__file__).with_name("programs") / "stacks.py"


class Suspect(NamedTuple):
    """A process whose stack is to be taken."""

    pid: int
    rank: int | None = None


class _Looked:
    """Time of the last stack of one process, and how many were taken or failed."""

    __slots__ = ("at", "failed", "taken")

    def __init__(self) -> None:
        self.at = 0.0
        self.taken = 0
        self.failed = 0

    @property
    def due_at(self) -> float:
        return self.at + (EVERY_S if self.taken < FIRST_LOOKS else LATER_S)


class Stacks(Source):
    """One :class:`StackSeen` per wanted process, every 5 s and later every 30 s.

    ``folders`` are searched for py-spy (default: the folder of our own Python, then ``$PATH``).
    """

    name = "stacks"
    every_s = 1.0
    answers_later = True

    def __init__(
        self,
        clock: Clock,
        folders: Iterable[str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.wanted: tuple[Suspect, ...] = ()
        self._clock = clock
        self._folders = _folders() if folders is None else tuple(folders)
        argv = (sys.executable, "-I", "-S", str(_CHILD))
        self._child = JsonWorker(argv, deadline_s, walls="stacks", can_wait=True)
        self._asked: Suspect | None = None
        self._looked: dict[int, _Looked] = {}
        self._missed = 0
        self._mounts = FarMounts()

    def fds(self) -> Iterable[int]:
        """The pipe through which the child answers."""
        fd = self._child.fileno()
        return () if fd is None else (fd,)

    def read(self, now: float) -> Iterable[Observation]:
        """Ask for the next stack that is due; raises Unsupported where py-spy cannot be used."""
        mono = self._clock.monotonic()
        if self._child.overdue(mono) > 0:
            self._give_up()
        if self._child.waiting:
            return ()
        self._asked = self._next(now)
        if self._asked is None:
            return ()
        spy, far = self._spy(now)
        looked = self._looked.setdefault(self._asked.pid, _Looked())
        if self._child.ask({"pid": self._asked.pid, "spy": spy, "folders": far}, mono):
            looked.at = now
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Take the answer, and ask for the next one at once."""
        seen: list[Observation] = []
        for answer in self._child.answers():
            asked, self._asked = self._asked, None
            if asked is None or answer.get("pid") != asked.pid:
                continue
            looked = self._looked[asked.pid]
            stack = _stack(answer, asked, now)
            if stack is not None:
                self._missed = 0
                looked.taken += 1
                looked.failed = 0
                seen.append(stack)
                continue
            looked.failed += 1
            if answer.get("refused"):
                self._child.close()
                raise Unsupported(f"stacks cannot be taken here: {answer.get('error')}")
        if not self._child.waiting:
            self.read(now)
        return seen

    def close(self) -> None:
        """End the child."""
        self._child.close()
        self._mounts.close()

    def _spy(self, now: float) -> tuple[str, list[str]]:
        """Path of py-spy, or the far folders in which the child is to look for it.

        Raises Unsupported where there is neither.
        """
        far = [f for f in self._folders if f.startswith("/") and self._mounts.of(f, now)]
        try:
            return find_spy(f for f in self._folders if f not in far), []
        except Unsupported:
            if not far:
                raise
            return "", far

    def _next(self, now: float) -> Suspect | None:
        for suspect in self.wanted[:MOST]:
            looked = self._looked.get(suspect.pid)
            if looked is None or (looked.failed < TRIES and now >= looked.due_at):
                return suspect
        return None

    def _give_up(self) -> None:
        """The answer is overdue: kill the child, and take no more stacks of that process.

        Raises Unsupported the second time in a row.
        """
        if self._asked is not None:
            self._looked[self._asked.pid].failed = TRIES
            self._asked = None
        self._child.restart()
        self._missed += 1
        if self._missed >= 2:
            self._missed = 0
            raise Unsupported(f"py-spy does not answer within {self._child.deadline_s:.0f} s")


def find_spy(folders: Iterable[str]) -> str:
    """Path of py-spy; raises Unsupported where there is none."""
    for folder in folders:
        path = f"{folder}/py-spy"
        if path.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise Unsupported("py-spy is not installed: no stacks (pip install py-spy)")


def _folders() -> tuple[str, ...]:
    return (os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(os.pathsep))


def _stack(answer: dict[str, Any], asked: Suspect, now: float) -> StackSeen | None:
    frames, own = answer.get("frames"), answer.get("own")
    if not isinstance(frames, list) or not frames:
        return None
    return StackSeen(
        at=now,
        pid=asked.pid,
        frames=tuple(sys.intern(str(frame)) for frame in frames),
        own=own if isinstance(own, int) else None,
        rank=asked.rank,
        active=bool(answer.get("active")),
        gil=bool(answer.get("gil")),
        threads=int(answer.get("threads", 1)),
    )
