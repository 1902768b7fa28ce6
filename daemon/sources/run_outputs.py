"""Finds the files that the processes of a run print to, for as long as the run lives.

``middlewatch run`` captures what its command prints, and ``watch`` looks once. A start script that
sends its training to ``train.log`` a minute later, the ranks that torchrun redirects, the second
stage of a queue: their files are open in the processes of the run, and are found there. No path of
the run is touched on a file system that may hang.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from middlewatch.sentinels.kit import Observation

from ..launch.log_files import log_like, place, same_file
from ..launch.programs import is_excluded, is_launcher, program, purpose_of, starts_trials
from ..launch.purpose import TRAIN
from ..system import procfs
from ..system.guard import Guards
from ..system.processes import OpenFile, Process
from ..system.source import Source
from .metric_files import written_files

AGES_S = (0.0, 1.0, 3.0, 10.0, 30.0)
"""Seconds for which a process is known when it is looked at: between ``fork`` and ``exec`` it still
has the files of its parent. Then every :data:`LATER_S`."""
LATER_S = 60.0
SEARCHED_S = 20.0
"""Seconds between two searches of a working directory, which all processes of a run share."""
QUIET_S = 10.0
"""Seconds for which a process is known before its other open files count as logs."""
YOUNG_S = 3.0
"""Age of a process, in seconds, up to which what it has printed is told from what was there."""
MOST = 64
"""Processes looked at: ranks first. Their workers print to the same files."""
MOST_FILES = 32
"""Logs found in this way: a launcher may give each of 16 ranks two."""
ABOVE = 8
"""Processes between a program and the run that it is a part of: more are shells in shells."""
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "busybox"))


class Output(NamedTuple):
    """A file that a process of the run prints to."""

    path: str
    via: str | None
    """``/proc/PID/fd/N``, if the path leads to another file."""
    from_start: bool
    """Everything in it is of this run."""


class RunOutputs(Source):
    """Hands new logs to ``take``; makes no observations.

    ``pids``: the processes of the run, those that matter most first. ``known``: the logs that are
    read already. ``silent``: no report was seen in them; then files that are open for writing and
    have the name of a log count as well. ``main``: the pid that is the run, whatever its program.
    """

    name = "run_outputs"
    every_s = 1.0

    def __init__(
        self,
        pids: Callable[[], Sequence[int]],
        known: Callable[[], Collection[str]],
        silent: Callable[[], bool],
        take: Callable[[Output], None],
        *,
        main: int | None = None,
        guards: Guards | None = None,
        root: str = procfs.PROC,
    ) -> None:
        self._pids, self._known, self._silent, self._take = pids, known, silent, take
        self._main, self._guards, self._root = main, guards, root
        self._due: dict[int, tuple[float, int, float]] = {}
        """pid -> (when it was seen first, looks so far, when the next is due), epoch seconds."""
        self._seen: set[str] = set()
        self._searched: dict[str, float] = {}
        """Working directory -> when it was searched last."""
        self._found = 0

    def read(self, now: float) -> Iterable[Observation]:
        """Look at the processes that are due."""
        pids = self._pids()[:MOST]
        for gone in self._due.keys() - set(pids):
            del self._due[gone]
        for pid in pids:
            first, looks, due = self._due.get(pid, (now, 0, now))
            if due > now and first <= now:  # a clock that was put back delays nothing
                continue
            first = min(first, now)
            self._look(Process(self._root, pid), now, now - first)
            looks += 1
            wait = AGES_S[looks] if looks < len(AGES_S) else now - first + LATER_S
            self._due[pid] = first, looks, first + wait
        return ()

    def _look(self, process: Process, now: float, known_s: float) -> None:
        if not process.alive or not self._prints(process):
            return
        files = [file for fd in (1, 2) if (file := self._fd(process, fd)) is not None]
        if process.comm == "tee":
            # What it also prints is read there; its copy would be the same lines again.
            copies = files and files[0].fd == 1 and not files[0].target.startswith("/dev/")
            files = [] if copies else [file for file in process.files if file.fd > 2]
        elif known_s >= QUIET_S and self._silent():
            files += log_like(process)
            self._search(process, now)
        for file in files:
            if file.target in self._seen or not file.regular or not file.writable:
                continue
            if self._found < MOST_FILES:
                self._seen.add(file.target)
                self._add(process, file, now)

    def _search(self, process: Process, now: float) -> None:
        """Files that a process writes without keeping them open."""
        folder = process.outside(process.cwd)
        if not folder or (self._guards is not None and self._guards.of(folder, now) is not None):
            return
        if 0 <= now - self._searched.get(folder, -SEARCHED_S) < SEARCHED_S:
            return
        self._searched[folder] = now
        numbers = (procfs.namespace_pids(pid, self._root) for pid in self._pids()[:MOST])
        pids = frozenset(itertools.chain.from_iterable(numbers))
        for path in written_files(folder, process.started_at, pids):
            if path not in self._seen and path not in self._known() and self._found < MOST_FILES:
                self._seen.add(path)
                self._found += 1
                self._take(Output(path, None, from_start=True))

    def _prints(self, process: Process) -> bool:
        """True for a program whose words are those of the run: no monitor, no side job."""
        if process.pid == self._main:
            return True
        if is_excluded(process) or purpose_of(process) == "other" or self._is_trial(process):
            return False
        what = program(process)
        known = what.python or what.name.lstrip("-") in SHELLS or process.comm == "tee"
        return known or is_launcher(process) or bool(TRAIN.search(what.name))

    def _is_trial(self, process: Process) -> bool:
        """True for what a search has started: it reads their results, and judges them itself."""
        for _ in range(ABOVE):
            if process.pid == self._main or process.ppid <= 1:
                return False
            process = Process(self._root, process.ppid)
            if starts_trials(process):
                return True
        return False

    def _fd(self, process: Process, fd: int) -> OpenFile | None:
        via = f"{self._root}/{process.pid}/fd/{fd}"
        target = procfs.link(via)
        return OpenFile(fd, target, via) if target else None

    def _add(self, process: Process, file: OpenFile, now: float) -> None:
        path, via = file.target.removesuffix(" (deleted)"), None
        local = self._guards is None or self._guards.of(path, now) is None
        if local:
            path, via = place(process, file)
        if path in self._known() or any(same_file(path, other) for other in self._near(now)):
            return
        self._found += 1
        bytes_now = _size(file.via) if local else file.position
        self._take(Output(path, via, self._is_own(process, file, bytes_now, now)))

    def _near(self, now: float) -> Iterable[str]:
        """The known logs that may be touched here."""
        guards = self._guards
        return (p for p in self._known() if guards is None or guards.of(p, now) is None)

    def _is_own(self, process: Process, file: OpenFile, bytes_now: int, now: float) -> bool:
        """False when a file that is appended to holds more than this run can have written.

        What a process that runs for long has appended to cannot be told from the rest; then all of
        it is read, as ``watch`` does.
        """
        if not file.appends or now - process.started_at > YOUNG_S:
            return True
        wrote = (procfs.io(pid, self._root) for pid in self._pids()[:MOST])
        return bytes_now <= sum(io.wchar for io in wrote if io is not None)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
