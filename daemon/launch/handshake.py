"""The exchange between launcher and supervisor: two FIFOs in a private folder.

Through one FIFO the launcher sends the orders: working directory, command and environment. So the
environment is written to no command line and no disk, and reaches the supervisor also when tmux or
systemd start it with an environment of their own. Through the other FIFO the supervisor answers
with one line: the pid of the command, or why it could not be started.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ..system.clock import Clock, SystemClock

PIPE_BYTES = 1 << 20
"""Largest pipe that a user without privileges may have (default of fs.pipe-max-size); most orders
fit into it, so that writing does not wait for the reader."""


@dataclass(frozen=True, slots=True)
class StartReport:
    """Answer of the supervisor. ``code`` is 0 when the command runs, else 126 or 127, and
    ``reason`` says why it does not."""

    supervisor_pid: int
    pid: int = 0
    start_ticks: int = 0
    code: int = 0
    reason: str = ""


def pack(cwd: str, argv: Sequence[str], env: Mapping[str, str]) -> bytes:
    """The orders as the supervisor reads them. Raises ValueError for a NUL in any part."""
    parts = [cwd, str(len(argv)), *argv, *(f"{key}={value}" for key, value in env.items())]
    if any("\0" in part for part in parts):
        raise ValueError("a NUL byte cannot be part of a command or an environment")
    body = b"\0".join(os.fsencode(part) for part in parts)
    return b"%010d" % len(body) + body


class Handshake:
    """A context manager that owns the two FIFOs and removes them at its end."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._folder = Path(tempfile.mkdtemp(prefix="middlewatch-", dir=folder))
        self.orders = str(self._folder / "orders")
        self.report = str(self._folder / "report")
        os.mkfifo(self.orders, 0o600)
        os.mkfifo(self.report, 0o600)
        # Opened for reading and writing, the FIFO can be opened and written without a reader.
        self._out = os.open(self.orders, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._in = os.open(self.report, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def __enter__(self) -> Handshake:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._folder, ignore_errors=True)

    def talk(self, orders: bytes, seconds: float) -> StartReport | None:
        """Send the orders and wait for the answer.

        ``None`` without an answer within ``seconds``, or when the supervisor died without one.
        """
        end = self._clock.monotonic() + seconds
        poller = select.poll()
        poller.register(self._in, select.POLLIN)
        poller.register(self._out, select.POLLOUT)
        answer = b""
        while (left := end - self._clock.monotonic()) > 0:
            events = dict(poller.poll(left * 1000))
            if self._out in events:
                orders = orders[os.write(self._out, orders) :]
                if not orders:
                    poller.unregister(self._out)
            if self._in in events:
                chunk = os.read(self._in, 4096)
                answer += chunk
                if not chunk or answer.endswith(b"\n"):
                    return _parse(answer)
        return None


def _parse(answer: bytes) -> StartReport | None:
    """``started PID TICKS SUPERVISOR`` or ``failed CODE SUPERVISOR REASON``."""
    words = answer.decode(errors="replace").split(maxsplit=3)
    if len(words) < 4:
        return None
    if words[0] == "started":
        return StartReport(
            supervisor_pid=int(words[3]), pid=int(words[1]), start_ticks=int(words[2])
        )
    return StartReport(supervisor_pid=int(words[2]), code=int(words[1]), reason=words[3].strip())
