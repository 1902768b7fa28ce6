"""The known times at which a scheduler, a platform or ``timeout`` will end the run.

They come from the environment of the run's main process (one variable each of Slurm and Kaggle; no
other is kept), from the ``timeout`` commands that started it, and from the configuration. No
scheduler or service is asked, so a limit that was raised during the run is not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from middlewatch.sentinels.kit import Deadline, Observation

from ..system import procfs
from ..system.source import Source

SLURM = "SLURM_JOB_END_TIME"
"""Epoch seconds at which Slurm ends the job, in the environment of its steps since 22.05."""
KAGGLE = "KAGGLE_KERNEL_RUN_TYPE"
KAGGLE_SESSION_S = 43200.0
"""Kaggle's documentation: a session with CPU or GPU ends 12 hours after its start (TPU: 9)."""
NEVER_S = 180 * 86400.0
"""An end further away than 180 days does not count: schedulers write "no limit" as one year."""
LOOKS = 3
"""Reads that look at environment and ancestors again: a launcher may still exec."""
_ANCESTORS = 32
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WITH_VALUE = ("-k", "--kill-after", "-s", "--signal")
"""Options of ``timeout`` that take the next argument."""


class Walltime(Source):
    """One :class:`Deadline` per known end and read.

    ``given`` are the ends from the configuration (origin -> epoch seconds). ``root`` is put before
    /proc.
    """

    name = "walltime"
    every_s = 60.0

    def __init__(self, pid: int | None, given: Mapping[str, float] | None = None, root: str = ""):
        self._pid = pid
        self._proc = f"{root.rstrip('/')}/proc"
        self._given = dict(given or {})
        self._found: dict[str, float] = {}
        self._looks = 0

    def read(self, now: float) -> Iterable[Observation]:
        """Every known end that is still to come; after ``LOOKS`` reads no new ones are sought."""
        if self._pid is not None and self._looks < LOOKS:
            self._looks += 1
            self._found = {**self._found, **dict(self._surroundings(self._pid, now))}
        known = {**self._found, **self._given}
        return [Deadline(now, at, o) for o, at in known.items() if 0 < at - now < NEVER_S]

    def _surroundings(self, pid: int, now: float) -> Iterator[tuple[str, float]]:
        names = procfs.environ(pid, self._proc)
        told = names.get(SLURM, "")
        if told.isascii() and told.isdigit() and len(told) < 12:
            yield SLURM, float(told)
        if KAGGLE in names:
            began = self._began(1, now)
            if began is not None:
                yield KAGGLE, began + KAGGLE_SESSION_S
        ends = [*self._timeouts(pid, now)]
        if ends:
            yield "timeout", min(ends)

    def _timeouts(self, pid: int, now: float) -> Iterator[float]:
        """The ends set by ``timeout`` commands among the process and its ancestors."""
        for _ in range(_ANCESTORS):
            seen = procfs.stat(pid, self._proc)
            if seen is None:
                return
            seconds = duration(procfs.cmdline(pid, self._proc))
            began = self._began(pid, now) if seconds else None
            if seconds and began is not None:
                yield began + seconds
            pid = seen.ppid
            if pid <= 1:
                return

    def _began(self, pid: int, now: float) -> float | None:
        """Start of a process in epoch seconds, computed from its age: the kernel's boot time is
        wrong by every step of the wall clock since the boot."""
        seen = procfs.stat(pid, self._proc)
        uptime_s = procfs.uptime_s(self._proc)
        if seen is None or uptime_s is None:
            return None
        return now - uptime_s + seen.start_ticks * procfs.TICK_S


def duration(command: Sequence[str]) -> float | None:
    """Seconds after which ``timeout`` (coreutils) ends its command; ``None`` for other commands.

    With ``--foreground`` it ends the command but not the command's children.
    """
    if not command or command[0].rpartition("/")[2] != "timeout":
        return None
    words = iter(command[1:])
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-") or word == "-":
            return _seconds(word)
        elif word == "--":
            return _seconds(next(words, ""))
    return None


def _seconds(word: str) -> float | None:
    factor = _UNITS.get(word[-1:], 0.0)
    try:
        seconds = float(word[:-1]) * factor if factor else float(word)
    except ValueError:
        return None
    return seconds if 0 < seconds < NEVER_S else None
