"""Whether a process waits for somebody to type something.

A program that asks ("Overwrite? [y/N]", a password, which account) stands in a read of its terminal. In a screen, a
tmux or under nohup nobody sees the question.
"""

from __future__ import annotations

import os

from . import procfs

ASKS = "n_tty_read"
"""The kernel function that reads a terminal, by which such a process is known. Newer kernels show the one that it
calls, in which all sorts of readers wait."""
_MAY_BE = (ASKS, "wait_woken", "do_select", "poll_schedule_timeout")
_READ = (b"0", b"63")
_SELECT = (b"23", b"270", b"72")
"""Numbers of read, and of select and pselect6, on x86-64 and aarch64 (Linux, unistd.h)."""
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")


def waits_in(pid: int, wchan: str | None, root: str = procfs.PROC) -> str | None:
    """``ASKS`` for a process whose first thread reads its terminal, else ``wchan`` as it was given."""
    if wchan is None or wchan == ASKS or wchan.partition(".")[0] not in _MAY_BE:
        return wchan  # gcc names its copies of a function: poll_schedule_timeout.constprop.0
    words = (procfs.read_or_none(f"{root}/{pid}/syscall", 256) or b"").split()
    if len(words) < 2:
        return wchan  # hidden from us
    if words[0] in _READ:
        fd = int(words[1], 16)
    elif words[0] in _SELECT and words[1] == b"0x1":
        fd = 0  # of one descriptor, which is the first
    else:
        return wchan
    try:
        read = os.readlink(f"{root}/{pid}/fd/{fd}")
    except OSError:
        return wchan
    return ASKS if read.startswith(_TERMINALS) else wchan
