"""A limit on the CPU time of one call, for code that may loop for ever: rules, parsers, pages, sources.

:func:`bounded` calls a function; after some seconds of CPU time in it, :class:`Overrun` is raised inside.
The process has one timer for that (ITIMER_PROF), which counts the CPU time of the process and sends a
signal every quarter second of it: a daemon that uses 1 % of a core gets one every 25 s, and a bounded call
costs no system call. Before :func:`install` was called nothing is interrupted.

Only computing is interrupted, and only between two steps of the interpreter or of the ``re`` module:
not a call that waits (a hung disk uses no CPU time), and no single long call of another C library.
Writing to files, the store and the socket is never bounded, so nothing is half written: the
:mod:`.loop_watch`, guards and workers are there for what may hang.
"""

from __future__ import annotations

import atexit
import signal
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

R = TypeVar("R")
CPU_S = 2.0
"""CPU seconds of a call that only computes. The longest ordinary one, 256 KiB of log text, takes 0.05 s;
the loop answers nobody meanwhile, and commands wait for 5 s."""
RULE_CPU_S = 1.0
"""The same for a rule, of which the longest ordinary call takes a millisecond."""
SOURCE_CPU_S = 30.0
"""The same for a look of a source, which is mostly work of the kernel: a folder of a million files is a
few seconds. Our choice."""
SHORT_CPU_S = 0.5
"""CPU seconds that are left to a rule, or the page of a run, after another call of the same code did not
end: it may do so for each of three hundred runs."""
SHORT_SOURCE_CPU_S = 5.0
"""The same for sources of one kind."""
_TICK_S = 0.25
"""A call of :data:`SHORT_CPU_S` is two of them: so the end of one cannot hit a call that just began."""


class Overrun(RuntimeError):
    """A bounded call used up its CPU time."""


class _Call:
    """The bounded call that runs now: ticks of CPU time that it has left; -1 outside of one."""

    left = -1


def install() -> None:
    """Bound the calls of this process from now on; in the main thread, where they are made."""
    signal.signal(signal.SIGPROF, _tick)
    signal.siginterrupt(signal.SIGPROF, False)
    signal.setitimer(signal.ITIMER_PROF, _TICK_S, _TICK_S)
    atexit.register(
        uninstall
    )  # an interpreter that ends drops its handlers: the signal would kill it


def uninstall() -> None:
    """Interrupt nothing any more."""
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)  # also one that is on its way


def bounded(call: Callable[[], R], cpu_s: float = CPU_S) -> R:
    """``call()``. Raises what it raises, and Overrun after ``cpu_s`` seconds of computing, or a tick
    more. A call within another one has its own time, which is not counted for the outer one."""
    outer, _Call.left = _Call.left, int(cpu_s / _TICK_S)
    try:
        return call()
    finally:
        _Call.left = outer


def _tick(number: int, frame: FrameType | None) -> None:
    if _Call.left < 0:
        return
    _Call.left -= 1
    # A call that ends at this moment is left alone: its result is there.
    if _Call.left <= 0 and frame is not None and frame.f_code is not bounded.__code__:
        _Call.left = int(CPU_S / _TICK_S)  # what catches it and goes on has some time again
        raise Overrun("it used up its CPU time and did not end")
