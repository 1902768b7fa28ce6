"""New processes of the box that may be trainings, and what a child finds out about them.

The list of /proc is compared every few seconds. What is there twice is looked at once, by its
command line only: most processes of a busy box are gone by then, most others are plainly no
trainings. Only when a Python program, a launcher or a program on a GPU stays, a child looks for the
runs of the whole box (:mod:`.programs.finder`). A program that is no run yet may become one when it
has loaded its framework: it is asked about again, ever more rarely.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from middlewatch.sentinels.kit import Observation

from ..config.run_spec import RunSpec
from ..launch.homes import container_id, readable
from ..launch.next_job import next_job
from ..launch.programs import (
    TRAINERS,
    is_excluded,
    is_launcher,
    is_notebook,
    program,
    purpose_of,
)
from ..system import procfs
from ..system.clock import Clock
from ..system.listing import Listing
from ..system.processes import Process
from ..system.source import Source, TelemetryLost
from ..system.worker import JsonWorker, module_argv

EVERY_S = 5.0
"""Seconds between two lists of /proc: 0.2 ms each on a box with 300 processes."""
HURRY_S, HURRY_EVERY_S = 60.0, 1.0
"""After the end of a run the list is read every second for a minute: a wrapper starts it again, a
queue starts the next job."""
AGES_S = (10.0, 30.0, 90.0, 300.0, 900.0)
"""Seconds for which a program is known when it is asked about: importing a framework takes some
seconds, loading a model minutes. Then every :data:`LATE_S`."""
LATE_S = 1800.0
AGAIN_S = 300.0
"""Seconds after which all command lines are read once more: a shell may have become a training by
``exec``. 40 µs a process, :data:`MOST` in a second and after what is new."""
PAUSE_S, LONGEST_PAUSE_S = 3.0, 240.0
"""Seconds after an answer until the next question; doubled while answers bring nothing new. A child
needs 0.2 s of CPU time, so that a box which starts programs all day pays 0.1 % of a core."""
RESTS = 10
"""The pause is at least so many times the CPU time of the answer: a second with 5,000 Python programs on
the box. Our choice: a tenth of a core while programs start all the time."""
DEADLINE_S = 60.0
"""Seconds for an answer: it takes one, more on a box that swaps."""
MOST = 128
"""Processes looked at in one turn, so that neither a fork bomb nor a full box holds up the loop: 10 ms.
The others follow a second later."""
_ANCESTORS = 32


class Known(NamedTuple):
    """What the rest of the daemon knows."""

    pids: Collection[int]
    """All processes of the runs under watch."""
    main: Collection[tuple[int, int]]
    """(pid, start ticks) of their main processes and ranks, of ended runs as well."""
    parents: Collection[int]
    """What started them: shells, queues, wrappers."""
    gpu: Collection[int]
    """Processes that NVML names."""
    containers: Collection[str] = ()
    """The containers of the runs: an engine may start one again."""
    ended: Mapping[int, RunSpec] = MappingProxyType({})
    """Parent -> the newest run that it started and that has ended."""


@dataclass(slots=True)
class _Doubt:
    """A program that may train; ``seen`` and ``due`` in monotonic seconds."""

    seen: float
    due: float
    asked: int = 0


class Newcomers(Source):
    """Gives the runs that are not watched yet to ``take``; makes no observations.

    ``known`` tells what is watched. ``panes``: the folder for copies of tmux panes. ``listing`` is shared
    with the runs.
    """

    name = "newcomers"
    every_s = EVERY_S
    answers_later = True

    def __init__(
        self,
        clock: Clock,
        known: Callable[[], Known],
        take: Callable[[list[dict[str, Any]]], int],
        panes: str,
        root: str = procfs.PROC,
        argv: tuple[str, ...] | None = None,
        listing: Listing | None = None,
    ) -> None:
        self._clock = clock
        self._listing = listing or Listing(clock, root, fresh_s=0.0)
        self._known = known
        self._take = take
        self._panes = panes
        self._root = root
        module = "middlewatch.daemon.sources.programs.finder"
        argv = module_argv(module) if argv is None else argv
        self._child = JsonWorker(argv, DEADLINE_S, walls="finder", can_wait=True)
        self._young: dict[int, float] = {}
        self._settled: set[int] = set()
        self._again: set[int] = set()
        """Settled ones that are to be looked at once more."""
        self._doubts: dict[int, _Doubt] = {}
        self._ask_at: float | None = clock.monotonic()
        self._not_before = 0.0
        self._rested_at = 0.0
        """From then on the cost of the last answer is made up for."""
        self._pause_s = PAUSE_S
        self._hurry_until = 0.0
        self._behind = False
        """More stay than could be looked at in one turn."""
        self._all_at = clock.monotonic() + AGAIN_S
        self._now = 0.0

    # -- what the daemon tells it --------------------------------------------------------

    def hurry(self, ask_in_s: float | None = None) -> None:
        """A run has ended: look often for a while, and ask the child in ``ask_in_s`` seconds."""
        mono = self._clock.monotonic()
        self._hurry_until = mono + HURRY_S
        self._pause_s = PAUSE_S
        # A job that fails at its start is gone after some seconds.
        self._not_before = min(self._not_before, max(mono, self._rested_at))
        if ask_in_s is not None:
            self._ask_at = mono + ask_in_s
            self._again |= self._settled

    # -- Source --------------------------------------------------------------------------

    def fds(self) -> Iterable[int]:
        """The pipe through which the child answers."""
        fd = self._child.fileno()
        return () if fd is None else (fd,)

    @property
    def due_at(self) -> float | None:
        """Sooner than usual in the minute after the end of a run, and while some wait for a look."""
        hurry = self._clock.monotonic() < self._hurry_until or self._behind
        return self._now + HURRY_EVERY_S if hurry else None

    def read(self, now: float) -> Iterable[Observation]:
        """Compare the processes with those of the last time, and ask the child if it is due."""
        self._now, mono = now, self._clock.monotonic()
        if self._child.overdue(mono) > 0:
            self._child.restart()
            raise TelemetryLost(f"the search for new runs took more than {DEADLINE_S:.0f} s")
        if mono >= self._all_at:
            self._all_at = mono + AGAIN_S
            self._again |= self._settled
        present = self._listing.pids()
        self._settled &= present
        self._again &= present
        for gone in self._young.keys() - present:
            del self._young[gone]
        for gone in self._doubts.keys() - present:
            del self._doubts[gone]
        staying = list(islice(reversed(self._young), MOST))  # those that came last first
        older = list(islice(self._again, MOST - len(staying)))
        if staying or older:
            known = self._known()
            for pid in staying:
                self._examine(pid, self._young.pop(pid), known)
            for pid in older:
                self._again.discard(pid)
                self._settled.discard(pid)
                self._examine(pid, mono, known)
        self._behind = bool(self._young or self._again)
        for pid in present - self._settled - self._doubts.keys() - self._young.keys():
            self._young[pid] = mono
        if self._young and mono < self._hurry_until:
            self._take_next()
        self._ask(mono)
        return ()

    def ready(self, fd: int, now: float) -> Iterable[Observation]:
        """Hand over what the child found."""
        mono = self._clock.monotonic()
        for answer in self._child.answers():
            if "error" in answer:
                raise TelemetryLost(str(answer["error"]))
            found = [run for run in answer.get("runs", ()) if isinstance(run, dict)]
            fresh = self._take(found)
            self._pause_s = PAUSE_S if fresh else min(2 * self._pause_s, LONGEST_PAUSE_S)
            self._rested_at = mono + RESTS * _seconds(answer.get("cpu_s"))
            self._not_before = max(mono + self._pause_s, self._rested_at)
        return ()

    def close(self) -> None:
        """End the child."""
        self._child.close()

    def _take_next(self) -> None:
        """Hand over the next jobs of queues at their first sight: a child would come too late for some."""
        ended = self._known().ended
        for pid in list(islice(reversed(self._young), MOST)) if ended else ():
            try:
                seen = self._listing.stat(pid)
            except OSError:
                continue
            if seen is not None and seen.ppid in ended:
                found = next_job(ended[seen.ppid], Process(self._root, pid), self._root)
                if found is not None:
                    self._settled.add(pid)
                    del self._young[pid]
                    self._take([found.to_json()])

    # -- judging by the command line -----------------------------------------------------

    def _examine(self, pid: int, seen: float, known: Known) -> None:
        """Put one process aside, or note when the child is to be asked about it."""
        process = Process(self._root, pid)
        mark = self._mark(process, known)
        if not mark or self._belongs(process, known):
            self._settled.add(pid)
        else:
            self._doubts[pid] = _Doubt(seen, seen if mark == "strong" else seen + AGES_S[0])

    def _mark(self, process: Process, known: Known) -> str:
        """``strong`` for what says that it trains, or follows a run; ``weak`` for what may."""
        if not process.alive or not process.argv or not readable(process.pid, self._root):
            return ""
        what, on_gpu = program(process), process.pid in known.gpu
        if is_excluded(process):
            return "weak" if on_gpu and is_notebook(process) else ""
        if is_launcher(process) or what.name in TRAINERS:
            return "strong"
        runs = what.script and (what.python or not what.name.endswith((".py", ".sh")))
        if runs and purpose_of(process) == "train":
            return "strong"
        if what.python and len(process.argv) > 1:
            follows = process.ppid in known.parents
            follows = follows or (container_id(process) or "") in known.containers
            return "strong" if follows else "weak"
        return "weak" if on_gpu else ""

    def _belongs(self, process: Process, known: Known) -> bool:
        """True for a process of a run under watch: it, or one of its ancestors, is in the run."""
        pid, ppid = process.pid, process.ppid
        for _ in range(_ANCESTORS):
            if pid in known.pids:
                return True
            if ppid <= 1:
                return False
            try:
                seen = self._listing.stat(ppid)
            except OSError:
                return False
            pid, ppid = ppid, seen.ppid if seen is not None else 0
        return False

    # -- asking --------------------------------------------------------------------------

    def _ask(self, mono: float) -> None:
        """Ask the child, if a doubt is due and the pause after the last answer is over."""
        due = [doubt for doubt in self._doubts.values() if doubt.due <= mono]
        wanted = due or (self._ask_at is not None and mono >= self._ask_at)
        if not wanted or mono < self._not_before or self._child.waiting:
            return
        known = self._known()
        question = {
            "known": [list(one) for one in known.main],
            "gpu_pids": sorted(known.gpu),
            "panes": self._panes,
        }
        if not self._child.ask(question, mono):
            return
        if self._ask_at is not None and mono >= self._ask_at:
            self._ask_at = None
        for pid, doubt in list(self._doubts.items()):
            if pid in known.pids:
                del self._doubts[pid]
                self._settled.add(pid)
            elif doubt.due <= mono:
                while doubt.asked < len(AGES_S) and doubt.seen + AGES_S[doubt.asked] <= mono:
                    doubt.asked += 1
                late = doubt.asked >= len(AGES_S)
                doubt.due = mono + LATE_S if late else doubt.seen + AGES_S[doubt.asked]


def _seconds(told: object) -> float:
    """Seconds of CPU time that the child told; 0 where it did not."""
    return max(0.0, float(told)) if isinstance(told, (int, float)) else 0.0
