"""What may end together with a process: its terminal, its container, its box.

The exit status of a process that middlewatch did not start cannot be read. But if its terminal, its
container or the box went away at the same time, that was the cause of its end. To notice that, the
state of all three is recorded while the process lives.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from middlewatch.sentinels.kit import Observation, ProcessEnded, ProcessesSeen, codec
from middlewatch.sentinels.kit.observations import GoneWith

from ..system import procfs

AT_ONCE_S = 5.0
"""Seconds. If the terminal was last seen this shortly before the end, both ended together. Looks
are a second apart, and a shell waits a moment between SIGHUP to its jobs and its own end."""
_PTS_MAJORS = range(136, 144)
"""Device numbers of pseudo terminals (Documentation/admin-guide/devices.txt)."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Boot, process 1, terminal and session leader when the process was first looked at."""

    boot: str = ""
    first: int = 0
    """When process 1 started, in ticks."""
    terminal: str | None = None
    """A terminal whose end sends SIGHUP to the process; empty: none, ``None``: not looked yet."""
    leader: tuple[int, int] | None = None
    """(pid, start ticks) of the leader of its session, if that is another process."""


class Session:
    """Box, container and terminal of one process. ``saved`` is what :meth:`state` gave before."""

    def __init__(
        self,
        pid: int,
        saved: Mapping[str, Any] | None = None,
        root: str = procfs.PROC,
        dev: str = "/dev",
    ) -> None:
        self._root = root
        self._lost: GoneWith = ""
        self._alive_at: float | None = None
        boot, first = procfs.boot_id(root), procfs.start_ticks(1, root) or 0
        before = codec.load_or_new(Surroundings, saved)
        if boot and before.boot and before.boot != boot:
            self._lost = "box"
        elif first and before.first and before.first != first:
            self._lost = "container"
        terminal, self._leader = before.terminal, before.leader
        if terminal is None:
            terminal, self._leader = _surroundings(pid, root, dev)
        self._boot, self._first, self._terminal = boot, first, terminal
        self._changed = _changed(terminal) if terminal else None

    def check_terminal(self, now: float) -> None:
        """Note that the terminal is still there; does nothing for a process without one."""
        if self._terminal and not self._hung_up():
            self._alive_at = now

    def gone_with(self, now: float) -> GoneWith:
        """What ended together with the process: ``box``, ``container``, ``session`` or ``""``."""
        if self._lost:
            return self._lost
        seen = self._alive_at
        if self._terminal and seen is not None and now - seen <= AT_ONCE_S and self._hung_up():
            return "session"
        return ""

    def note(self, seen: Observation) -> Observation:
        """Look at the terminal with each sample; the end of the main process with what ended beside it."""
        if isinstance(seen, ProcessesSeen):
            self.check_terminal(seen.at)
        elif isinstance(seen, ProcessEnded) and seen.main:
            return replace(seen, gone_with=self.gone_with(seen.at))
        return seen

    def state(self) -> dict[str, Any]:
        """Plain JSON values for the store, from which a restarted daemon can notice a reboot."""
        there = Surroundings(self._boot, self._first, self._terminal, self._leader)
        saved: dict[str, Any] = codec.dump(there)
        return saved

    def _hung_up(self) -> bool:
        # A terminal that is opened later gets the number of the one that was closed.
        if self._changed is None or _changed(self._terminal) != self._changed:
            return True
        return (
            self._leader is not None
            and procfs.start_ticks(self._leader[0], self._root) != self._leader[1]
        )


def _changed(terminal: str) -> int | None:
    """Time in ns when the device was created or its mode changed; ``None`` when it is gone.

    Input and output of a terminal leave its ctime alone (the kernel's ``tty_update_time``).
    """
    try:
        return os.stat(terminal).st_ctime_ns
    except OSError:
        return None


def _surroundings(pid: int, root: str, dev: str) -> tuple[str, tuple[int, int] | None]:
    """(terminal whose end sends SIGHUP to the process, session leader if another process)."""
    session, device = procfs.terminal(pid, root) or (0, 0)
    if os.major(device) not in _PTS_MAJORS or procfs.ignores_hangup(pid, root):
        return "", None
    number = (os.major(device) - _PTS_MAJORS[0]) * 256 + os.minor(device)
    terminal = f"{dev}/pts/{number}"
    if not os.path.exists(terminal):
        return "", None
    ticks = procfs.start_ticks(session, root) if session != pid else 0
    return terminal, (session, ticks) if ticks else None
