"""Notices that the loop is stuck in one call, and says in which, while it still is.

No callback of the loop may block, but even a local disk can hang. A thread that sleeps nearly all
the time compares a counter of the loop every few seconds; while the counter stands still in the
middle of a call, it reads the stack of the main thread and writes to the daemon's log where that
is. It looks at the same call twice or more before it says anything, so a suspended machine or a
stopped process is not mistaken for a stuck call.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import NamedTuple

from . import procfs
from .clock import Clock
from .loop import Callback, Loop

LOOK_S = 3.0
"""Seconds between two looks. One takes about 20 µs; seldom enough to cost nothing."""
STUCK_S = 5.0
"""Seconds in one call after which the loop counts as stuck. Its longest ordinary call, 256 KiB of
log text, takes 0.05 s."""
KEPT = 8
"""Ended standstills that are remembered."""
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_PATHS = ("path", "folder", "name")
"""Local variables, or attributes of ``self``, that hold the path a function works on."""


class Standstill(NamedTuple):
    """One time for which the loop was stuck."""

    at: float
    """Epoch seconds: about when it began."""
    for_s: float
    where: str

    def __str__(self) -> str:
        """In words, without the time of day."""
        return f"stuck for {self.for_s:.0f} s in {self.where}"


class LoopWatch:
    """Watches one loop, which runs in the main thread. ``tell`` gets sentences for the log."""

    def __init__(self, loop: Loop, clock: Clock, tell: Callable[[str], None]) -> None:
        self.past: deque[Standstill] = deque(maxlen=KEPT)
        """Ended standstills, oldest first."""
        self.now: Standstill | None = None
        self._loop = loop
        self._clock = clock
        self._tell = tell
        self._served = -1
        self._since = clock.monotonic()
        self._tell_at = STUCK_S
        self._thread_id = threading.get_ident()
        self._native_id = threading.get_native_id()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch from now on, in a thread that does not keep the process alive."""
        self._thread = threading.Thread(target=self._run, name="loop watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; safe to call twice."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def look(self) -> None:
        """Compare with the last look; called by the thread."""
        mono = self._clock.monotonic()
        served, call = self._loop.served, self._loop.serving
        if call is None or served != self._served:
            self._served, self._since, self._tell_at = served, mono, STUCK_S
            if self.now is not None:
                self.past.append(self.now)
                self._tell(f"the loop goes on; it was {self.now}")
                self.now = None
            return
        for_s = mono - self._since
        if for_s < STUCK_S:
            return
        where = self.now.where if self.now is not None else self._where(call)
        at = self._clock.now() - for_s if self.now is None else self.now.at
        self.now = Standstill(at, for_s, where)
        if for_s >= self._tell_at:
            self._tell_at = 2 * for_s  # once at first, then ever less often
            self._tell(f"the loop is {self.now}")

    def _run(self) -> None:
        while not self._end.wait(LOOK_S):
            self.look()

    def _where(self, call: Callback) -> str:
        """The call, the place in our code, the path, and what the kernel waits for."""
        words = [_label(call)]
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 (it has no other name)
        place, path = _place(frame)
        words += [place] if place else []
        words += [f"at {path}"] if path else []
        wchan = procfs.read_or_none(f"/proc/self/task/{self._native_id}/wchan") or b""
        if wchan.strip(b"\0\n0"):
            words.append(f"(kernel: {wchan.decode('ascii', 'replace').strip()})")
        else:
            words.append("(it waits for a CPU, or computes)")
        return " ".join(words)


def _label(call: Callback) -> str:
    """The name of the source that is called, or of the function."""
    inner: object = call
    while isinstance(inner, partial):
        inner = inner.func
    source = getattr(getattr(inner, "__self__", None), "source", None)
    name = getattr(source, "name", "")
    return str(name or getattr(inner, "__qualname__", repr(inner)))


def _place(frame: FrameType | None) -> tuple[str, str]:
    """The innermost function of ours, as ``file.py:12 function``, and the path it works on."""
    place = path = ""
    while frame is not None and not path:
        code = frame.f_code
        if code.co_filename.startswith(_PACKAGE):
            if not place:
                short = os.path.relpath(code.co_filename, _PACKAGE)
                place = f"{short}:{frame.f_lineno} {code.co_name}"
            owner = frame.f_locals.get("self")
            named = (frame.f_locals.get(name) or getattr(owner, name, None) for name in _PATHS)
            path = next((n for n in named if isinstance(n, str) and n.startswith("/")), "")
        frame = frame.f_back
    return place, path
