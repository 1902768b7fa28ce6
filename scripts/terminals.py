"""A program at the other end of a terminal, measured."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from fcntl import ioctl
from pathlib import Path


class Terminal:
    """A program on a pty of 140 by 40."""

    def __init__(self, *command: str, env: dict[str, str] | None = None) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        self.begun = time.monotonic()
        around = {**os.environ, **(env or {}), "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=around, start_new_session=True
        )
        os.close(slave)
        self.written = b""

    def read_for(self, seconds: float) -> int:
        """Bytes that came within this time. Raises OSError when the program has ended."""
        before, until = len(self.written), time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                self.written += os.read(self.master, 1 << 20)
        return len(self.written) - before

    def read_until(self, word: bytes, patience_s: float = 60.0) -> float:
        """Seconds since the start until the word came. Raises SystemExit when it does not come."""
        while word not in self.shown():
            if time.monotonic() > self.begun + patience_s:
                raise SystemExit(f"{self.process.args!r} never showed {word!r}")
            self.read_for(0.01)
        return time.monotonic() - self.begun

    def shown(self) -> bytes:
        """All that was written, without the sequences that place and colour it."""
        return re.sub(rb"\x1b\[[\d;?]*[a-zA-Z]", b"", self.written)

    def cpu_s(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self) -> float:
        """Resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        os.close(self.master)
