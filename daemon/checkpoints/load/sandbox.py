"""The sandbox of the loader: limits on system calls and memory, and a page cache left as it was.

Part of ``program``: it runs under the python of the training (3.8 and later) and imports
nothing of middlewatch but the walls, which are sent along.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
from typing import Any

from ...system import walls

_SPOTS = 16

_PR_SET_PDEATHSIG = 1


def enter() -> bool:
    """Forbid this process what loading never needs; returns whether the kernel does so."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    return walls.enter("load", alone=os.getpid())


def step_back() -> None:
    """Take the lowest priority for CPU and disk, and end with the parent; best effort."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    with contextlib.suppress(OSError):
        os.nice(19)
    # ioprio_set(2): IOPRIO_WHO_PROCESS, 0 = the caller, IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT.
    number = {"x86_64": 251, "aarch64": 30}.get(platform.machine())
    if number is not None:
        libc.syscall(number, 1, 0, 3 << 13)


@contextlib.contextmanager
def bounded(more: int) -> Any:
    """Limit the address space to what is in use now plus ``more`` bytes plus 64 MiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        with open("/proc/self/statm", "rb") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        wanted = used + more + (64 << 20)
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (OSError, ValueError):
        pass
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def left_as_it_was(path: str) -> Any:
    """Drop a file from the page cache afterwards, unless half of it was in there before."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        size = os.fstat(fd).st_size
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # the samples must not read ahead
        cached = sum(in_memory(fd, size * (2 * n + 1) // (2 * _SPOTS)) for n in range(_SPOTS))
        try:
            yield
        finally:
            if cached < _SPOTS // 2:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def in_memory(fd: int, at: int) -> bool:
    """Whether a byte of the file is in the page cache."""
    try:
        return os.preadv(fd, [bytearray(1)], at, os.RWF_NOWAIT) == 1
    except OSError:
        return False
