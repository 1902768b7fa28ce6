"""The end of the main process of a run: its status, which may come late, and who goes on instead.

A start script may put its training into the background, or into a tmux server, and end well within
a second. Then the run has not ended: the oldest of the programs that it has left is the main process
from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from middlewatch.sentinels.kit import ProcessEnded

from ..config.run_spec import RunSpec
from ..launch.exit_record import ExitRecord, read_exit
from ..launch.programs import is_excluded, program, purpose_of
from ..system import procfs
from ..system.exit_status import ExitStatuses
from ..system.processes import Process

EXIT_FILE_READS = 3
"""Reads (seconds) to wait for the exit file, or another witness, after the end of the main process."""
CORRECT_READS = 60
"""Reads after which an unknown exit status is no longer corrected by a late exit file."""
START_SCRIPT_S = 60.0
"""A command that ends well within so many seconds, and leaves a program of its own, was the start of
the run and not the run (our choice: the checks before a training take less)."""


class Witness(Protocol):
    """Who else may know how the main process has ended (the engine of its container)."""

    @property
    def awaited(self) -> bool:
        """True while it may still say so; asked only once the process is gone."""
        ...

    def exit_code(self) -> int | None:
        """The exit status; ``None``: not known."""
        ...


class MainEnd:
    """Tells the end of the main process of ``spec``, and corrects it when the status comes late.

    What ``witness`` knows is waited for even if the kernel tells the status: it knows as well who ended
    the process.
    """

    def __init__(
        self, spec: RunSpec, exits: ExitStatuses, root: str, witness: Witness | None = None
    ) -> None:
        self._witness = witness
        self.main = (spec.pid, spec.start_ticks)
        """Pid and start time of the main process; that of an heir once it has ended."""
        self._spec, self._exits, self._root = spec, exits, root
        self._ranks = {rank.pid: rank for rank in spec.ranks}
        self._lost: procfs.Stat | None = None
        self._gone_for: int | None = None
        """Reads since it was seen to be gone."""
        self._told: ProcessEnded | None = None

    def gone(self, seen: procfs.Stat | None = None) -> None:
        """The main process is gone, or a zombie; ``seen`` is what was known of it last."""
        self._lost, self._gone_for = seen, 0

    def status(self, pid: int, seen: procfs.Stat | None) -> tuple[int | None, int | None]:
        """(exit code, signal) of an ended process, as far as the kernel lets us know them."""
        status = None
        if seen is not None and seen.ended:
            status = procfs.exit_status(seen, self._root)
        if status is None:
            status = self._exits.status(pid)
        if status is None:
            return None, None
        return (None, status & 0x7F) if status & 0x7F else (status >> 8 & 0xFF, None)

    def tell(self, now: float, left: Iterable[procfs.Stat]) -> Iterator[ProcessEnded]:
        """The end of the main process, once; ``left``: the processes of the run that live."""
        if self._gone_for is None:
            return
        reads = self._gone_for = self._gone_for + 1
        pid = self.main[0] or 0
        record = self._record()
        written = (record.exit_code, record.signal) if record else (None, None)
        code, signal = written if written != (None, None) else self.status(pid, self._lost)
        witness = self._witness
        asked = witness is not None and witness.awaited and self._told is None
        if asked and reads <= EXIT_FILE_READS:
            return
        if witness is not None and (code, signal) == (None, None):
            code = witness.exit_code()
        known = code is not None or signal is not None
        waiting = self._spec.exit_file is not None and reads <= EXIT_FILE_READS
        alive = list(left)
        if self._told is None and alive and self._has_started(record, code):
            heir = self._heir(alive)
            if heir is not None:
                self.main, self._lost, self._gone_for = (heir.pid, heir.start_ticks), None, None
            if heir is not None or reads <= EXIT_FILE_READS:
                return  # what is left may still be a shell that is about to start the program
        if known or (self._told is None and not waiting):
            name = self._lost.name if self._lost else ""
            given = self._ranks.get(pid)
            rank = given.rank if given else None
            self._told = ProcessEnded(now, pid, True, code, signal, rank, name)
            yield self._told
        if known or reads > CORRECT_READS:
            self._gone_for = None
            self._exits.forget(pid)

    def _has_started(self, record: ExitRecord | None, code: int | None) -> bool:
        """True for a main process that ended well and was only the start of the run."""
        if record is None:
            return code == 0 and self.main[0] != self._spec.pid  # one of several heirs
        return code == 0 and record.ended_at - record.started_at <= START_SCRIPT_S

    def _heir(self, left: Iterable[procfs.Stat]) -> procfs.Stat | None:
        """The oldest program that is left; ``None``: none."""
        programs = (seen for seen in left if self._trains(Process(self._root, seen.pid)))
        return min(programs, key=lambda seen: (seen.start_ticks, seen.pid), default=None)

    def _trains(self, process: Process) -> bool:
        """True for a Python program that may be the run: no server, no helper of a library."""
        what = program(process)
        return (
            what.python
            and what.script
            and not is_excluded(process)
            and purpose_of(process) != "other"
        )

    def _record(self) -> ExitRecord | None:
        """The exit record of this main process; the file may be of an earlier start."""
        record = read_exit(self._spec.exit_file, self._spec.uid) if self._spec.exit_file else None
        if record is None or (record.exit_code, record.signal) == (None, None):
            return None
        pid, ticks = self.main
        theirs = record.start_ticks
        mine = record.pid == pid and (theirs is None or ticks is None or theirs == ticks)
        return record if mine else None
