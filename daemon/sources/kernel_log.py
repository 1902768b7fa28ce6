"""The kernel log, ``/dev/kmsg``: Xids, OOM kills, I/O errors, read-only remounts.

One read gives one record, ``priority,sequence,microseconds,flags;text``, followed by lines
that begin with a blank and hold ``KEY=value`` pairs (Documentation/ABI/testing/dev-kmsg).
Every record has a sequence number that grows by one until the next boot. So after a restart of the
daemon without a reboot no record is reported twice, and none is missed that the kernel still
holds. At the very first start, and after a reboot, only new records count: those in the buffer
are older than the watch.

Most containers have no kernel log, or may not read it; then the source is unsupported.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from middlewatch.sentinels.kit import LogEvent, codec

from ..system import procfs
from ..system.errors import Unsupported
from ..system.source import Source

RECORDS = 200
"""Records processed per call; the next ones are read a second later. A failing driver may write
tens of thousands of lines a second that all say the same."""
SKIPPED = 200_000
"""Records skipped at the first start at most; the largest buffer seen (16 MiB) holds fewer."""
RECORD_BYTES = 8192
"""The kernel's CONSOLE_EXT_LOG_MAX; a read into a smaller buffer fails with EINVAL."""

_KMSG = os.makedev(1, 11)
_ESCAPED = re.compile(rb"\\x([0-9a-fA-F]{2})")

Match = Callable[[str, float], Iterable[LogEvent]]


class KernelRecord(NamedTuple):
    """One record of the kernel log."""

    sequence: int
    uptime_s: float
    """Seconds since boot, by the time stamp of the kernel."""
    level: int
    """0 emergency .. 7 debug."""
    text: str


def parse(raw: bytes) -> KernelRecord | None:
    """One record as read from the device; ``None`` when it is not one."""
    prefix, semicolon, body = raw.partition(b";")
    fields = prefix.split(b",")
    if not semicolon or len(fields) < 3 or not all(f.isdigit() and len(f) < 21 for f in fields[:3]):
        return None
    priority, sequence, microseconds = (int(f) for f in fields[:3])
    text = _ESCAPED.sub(lambda m: bytes((int(m[1], 16),)), body.partition(b"\n")[0])
    return KernelRecord(sequence, microseconds / 1e6, priority & 7, text.decode("utf-8", "replace"))


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """The last record that was read."""

    boot_id: str = ""
    sequence: int | None = None


class KernelLog(Source):
    """Events of the kernel log: ``match`` gives the events that a line of text means.

    ``saved`` is what :meth:`state` gave before a restart of the daemon.
    """

    name = "kernel_log"
    every_s = 10.0
    """Seconds. The loop reads at every record; this is for a device that cannot be polled."""

    def __init__(
        self, match: Match, saved: dict[str, Any] | None = None, path: str = "/dev/kmsg"
    ) -> None:
        self.match = match
        self.path = path
        self.lost = 0
        """Records that the kernel overwrote before they could be read."""
        self.more = False
        """True when a call stopped at ``RECORDS``; the next call continues there."""
        self._fd = -1
        self._boot = procfs.boot_id()
        last = codec.load_or_new(Position, saved)
        self._sequence = last.sequence if last.boot_id == self._boot != "" else None

    @property
    def detail(self) -> str:
        """What is missing from the log, as a sentence for a person."""
        return (
            f"{self.lost} records were overwritten before they could be read" if self.lost else ""
        )

    def fds(self) -> Iterable[int]:
        """The device, unless a call stopped at its limit."""
        return (self._fd,) if self._fd >= 0 and not self.more else ()

    @property
    def due_at(self) -> float | None:
        """0 (at once) while records are left over from a call, else ``None``."""
        return 0.0 if self.more else None

    def ready(self, fd: int, now: float) -> Iterable[LogEvent]:
        """Read on."""
        return self.read(now)

    def read(self, now: float) -> Iterable[LogEvent]:
        """Events of at most ``RECORDS`` new records; ``line`` is the sequence number.

        Raises Unsupported where the kernel log cannot be opened, OSError when a read fails.
        """
        if self._fd < 0:
            self._open()
        said: list[LogEvent] = []
        taken = 0
        self.more = False
        while taken < RECORDS:
            raw = self._next()
            if raw is None:
                return said
            record = self._new(raw)
            if record is not None:
                taken += 1
                said.extend(self._judge(record, now))
        self.more = True
        return said

    def state(self) -> dict[str, Any]:
        """Boot and sequence number of the last record, as plain JSON values."""
        position: dict[str, Any] = codec.dump(Position(self._boot, self._sequence))
        return position

    def close(self) -> None:
        """Close the device."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        try:
            mode = os.stat(self.path)
            if not stat.S_ISCHR(mode.st_mode) or mode.st_rdev != _KMSG:
                # Some containers link it to their console: a read would consume typed input.
                raise Unsupported(f"{self.path} is something else here, not the kernel log")
            self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._pass_over()
        except OSError as error:
            self.close()
            raise Unsupported(_why_not(self.path, error)) from error

    def _pass_over(self) -> None:
        """At the first start: skip all records in the buffer, to learn the newest number."""
        if self._sequence is not None:
            return
        for _ in range(SKIPPED):
            raw = self._next()
            if raw is None:
                break
            self._new(raw)
        self.lost = 0

    def _next(self) -> bytes | None:
        """The next record; empty when some were overwritten, ``None`` when there is no more."""
        try:
            return os.read(self._fd, RECORD_BYTES)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            # The next read continues with the oldest record that is left; the gap in the
            # sequence numbers is the number of missing records.
            return b""
        except OSError:
            self.close()  # the next read opens it again and continues after the last record
            raise

    def _new(self, raw: bytes) -> KernelRecord | None:
        record = parse(raw)
        last = self._sequence
        if record is None or (last is not None and record.sequence <= last):
            return None
        if last is not None:
            self.lost += record.sequence - last - 1
        self._sequence = record.sequence
        return record

    def _judge(self, record: KernelRecord, now: float) -> Iterable[LogEvent]:
        for line in record.text.splitlines():
            for event in self.match(line, now):
                yield dataclasses.replace(
                    event,
                    file="kernel",
                    line=record.sequence,
                    details={**event.details, "uptime_s": record.uptime_s},
                )


def _why_not(path: str, error: OSError) -> str:
    if error.errno in (errno.EPERM, errno.EACCES):
        return f"{path} may not be read here (this needs root or CAP_SYSLOG outside a container)"
    if error.errno in (errno.ENOENT, errno.ENXIO, errno.ENODEV):
        return f"{path} does not exist here, as in most containers"
    return f"{path} cannot be read here: {error.strerror}"
