"""The runner of a queue: a small process that waits, starts the next cell, and waits again.

Run by ``middlewatch queue FILE``, away from every terminal. It may be killed at any moment: what it knows stands in
the journal, and cells run under supervisors of their own. It sleeps until a supervisor ends (a pidfd, where the
kernel has them) or :data:`POLL_S` have passed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import sys
from collections.abc import Mapping
from pathlib import Path

from ..config.paths import StateDir
from ..system import procfs
from ..system.clock import Clock, SystemClock
from ..system.private import open_private
from .cells import Cell
from .filing import Filing
from .gates import Gates
from .handover import Handover
from .places import QueuePlace
from .plan import Room, Settings, shard_of
from .roster import OVER, CellState
from .starting import Starter
from .store import QueueStore

POLL_S = 2.0
"""Seconds between two looks at the file and at what is waited for (our choice)."""
SHORT_S = 0.5
"""The same while the daemon is to be told something and is away, or an end may come that no pidfd tells of
(before Linux 5.3)."""
LOCK_S = 5.0
"""Seconds to wait for a runner that is about to end, or is not quite gone yet (our choice)."""
HANDOVER_S = 600.0
"""Seconds after the end of the queue in which the daemon may take the last cells (our choice)."""


class Runner:
    """Executes one queue until nothing is left to do."""

    def __init__(self, place: QueuePlace, clock: Clock, config: str = "") -> None:
        self._clock = clock
        self._store = QueueStore(place, clock)
        self._roster = self._store.roster
        self._filing = Filing(place, self._store)
        self._gates = Gates(clock)
        self._starter = Starter(place, self._store, dict(os.environ))
        self._handover = Handover(place, self._store, config)
        self._idle_since: float | None = None

    def run(self) -> int:
        """To the end of the queue; 1 if a cell failed."""
        pid = os.getpid()
        boot = procfs.boot_id()
        self._store.note("runner", pid=pid, ticks=procfs.start_ticks(pid), boot=boot)
        self._filing.turn(shard_of(self._roster.settings), at_once=True)
        if not self._turn():
            self._store.note("ready")
            self._wait()
            while not self._turn():
                self._wait()
        return int(bool(self._roster.named("failed", "lost")))

    def _turn(self) -> bool:
        """Look at everything once; True if the runner may end. That nothing is left is written down before:
        after it only the daemon is told of the last cells, if it was away."""
        self._store.refresh()
        self._filing.turn(shard_of(self._roster.settings))
        for state in self._roster.named("running", "claimed"):
            self._starter.look(state)
        if not self._roster.stopped:
            self._start_next()
        self._handover.turn(self._filing.cells.get)
        if self._left():
            self._idle_since = None
            return False
        if not self._roster.over:
            self._store.note("over")
        now = self._clock.monotonic()
        self._idle_since = self._idle_since or now
        waits = bool(self._handover.pending()) and now - self._idle_since < HANDOVER_S
        return self._roster.over and not waits  # somebody may have asked for more just now

    def _left(self) -> bool:
        """Whether something runs, or may still be started."""
        if self._roster.named("running", "claimed") or self._filing.unsettled:
            return True
        if self._roster.stopped:
            return False
        return any(self._may_start(cell) for cell in self._filing.cells.values())

    def _may_start(self, cell: Cell) -> CellState | None:
        """The state of a cell that is to be started, now or later."""
        state = self._roster.cells.get(cell.name)
        if state is None or state.standing in OVER or state.standing in ("running", "claimed"):
            return None
        if state.standing == "lost" and state.last and state.last.digest != cell.digest:
            text = f"its line was changed since it was lost: --retry {cell.name} runs the new one"
            if text not in state.notes:
                self._store.note("note", cell=cell.name, text=text)
            return None  # it is started again as it was, or not at all
        return state

    def _start_next(self) -> None:
        """Start cells while there is room, in the order of the file. One that waits for something lets
        those below it go first; one that needs more GPUs than are free does not, else it would never start."""
        room = Room(Settings.of(self._roster.settings), self._roster)
        for cell in list(self._filing.cells.values()):
            if room.full:
                return
            state = self._may_start(cell)
            if state is None or self._closed(cell, state):
                continue
            if not room.could_ever(cell):
                how = f"it needs {cell.settings.gpus} GPUs, and the queue has {room.slots}"
                self._store.note("failed", cell=cell.name, how=how)
                continue
            if not room.fits(cell):
                return
            self._starter.start(cell, state, room.gpus_for(cell))
            room = Room(Settings.of(self._roster.settings), self._roster)

    def _closed(self, cell: Cell, state: CellState) -> bool:
        """Whether it has to wait; if it has waited too long, or for what never comes, it has failed."""
        words, never = self._gates.closed(cell, self._roster.cells)
        if not words:
            return False
        now = self._clock.now()
        if never:
            self._store.note("failed", cell=cell.name, how=f"comes after {words}")
        elif state.gate_until is None:
            until = now + cell.settings.within_s
            self._store.note("gate", cell=cell.name, until=until, how=f"waits for {words}")
        elif now > state.gate_until:
            how = f"waited {cell.settings.within_s:.0f} s for {words}"
            self._store.note("failed", cell=cell.name, how=how)
        return True

    # -- waiting ------------------------------------------------------------------------

    def _wait(self) -> None:
        poller = select.poll()
        opened, blind = [], False
        for state in self._roster.named("running"):
            attempt = state.last
            pid = attempt and (attempt.supervisor or attempt.pid)
            if not pid:
                continue
            try:
                fd = os.pidfd_open(pid)
            except ProcessLookupError:
                blind = True  # it has just ended, or only its record is missing
            except (OSError, AttributeError):
                blind = True
            else:
                opened.append(fd)
                poller.register(fd, select.POLLIN)
        blind = blind or bool(self._roster.named("claimed") or self._handover.pending())
        try:
            poller.poll(1000 * (SHORT_S if blind else POLL_S))
        finally:
            for fd in opened:
                os.close(fd)


def hold(place: QueuePlace, clock: Clock) -> int | None:
    """Be the only runner of the queue for as long as the file descriptor is open; ``None``: there is one."""
    fd = open_private(place.lock, os.O_RDWR)
    until = clock.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            if clock.monotonic() > until:
                os.close(fd)
                return None
            clock.sleep(0.1)


def main(words: list[str] | None = None) -> int:
    """``STATE_DIR NAME CONFIG``: run the queue of this name; exit 0 also if another runner does."""
    root, name, config = sys.argv[1:] if words is None else words
    place, clock = QueuePlace(StateDir(Path(root)), name), SystemClock()
    held = hold(place, clock)
    if held is None:
        return 0
    with contextlib.closing(os.fdopen(held, "rb")):
        return Runner(place, clock, config).run()


def lives(runner: Mapping[str, object]) -> bool:
    """Whether the runner of this record of the journal lives."""
    pid, ticks = runner.get("pid"), runner.get("ticks")
    if not isinstance(pid, int) or runner.get("boot") != procfs.boot_id():
        return False
    return ticks is not None and procfs.start_ticks(pid) == ticks
