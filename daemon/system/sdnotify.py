"""Notifying systemd: ready, alive, stopping. Without systemd this does nothing."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send ``state`` (``READY=1``, ``WATCHDOG=1``, …) to ``$NOTIFY_SOCKET``."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.connect(address)
        sock.send(state.encode())


def watchdog_s() -> float | None:
    """Seconds between two ``WATCHDOG=1``: half the interval that systemd set; ``None`` without
    one."""
    usec, pid = os.environ.get("WATCHDOG_USEC"), os.environ.get("WATCHDOG_PID")
    if not usec or not usec.isdigit() or (pid and pid != str(os.getpid())):
        return None
    return int(usec) / 2e6
