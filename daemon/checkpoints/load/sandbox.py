"""The sandbox of the loader: limits on system calls and memory, and a page cache left as it was.

Part of ``program``: it runs under the python of the training (3.8 and later) and imports
nothing of middlewatch.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from typing import Any

_SPOTS = 16

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Linux system calls: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
# exec, ptrace, sockets, creating, renaming and removing files, modes and owners, mounts,
# namespaces, kernel modules, and io_uring, which can do most of these.
_FORBIDDEN = {
    "x86_64": (
        *(57, 58, 59, 322, 101, 310, 311, 62, 200, 424, 41, 42, 43, 49, 50, 53, 288),
        *(76, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94, 132, 133, 235, 261, 280),
        *(258, 259, 260, 263, 264, 265, 266, 268, 316, 452, 188, 189, 190, 197, 198, 199, 285),
        *(155, 161, 165, 166, 169, 175, 246, 272, 308, 313, 321, 323, 298, 425, 426, 427),
        *(248, 249, 250, 304, 428, 429, 430, 431, 432, 438, 442),
    ),
    "aarch64": (
        *(221, 281, 117, 270, 271, 129, 130, 424, 198, 199, 200, 201, 202, 203, 242),
        *(5, 6, 7, 14, 15, 16, 33, 34, 35, 36, 37, 38, 276, 45, 46, 47, 52, 53, 54, 55, 88, 452),
        *(39, 40, 41, 51, 97, 104, 105, 106, 142, 217, 218, 219, 241, 268, 273, 280, 282),
        *(265, 425, 426, 427, 428, 429, 430, 431, 432, 438, 442),
    ),
}
_MISSING = (435, 437)  # clone3, openat2: a filter cannot see their flags
_OPENS = {"x86_64": ((2, 1), (257, 2)), "aarch64": ((56, 2),)}  # number, argument with flags
_CLONE = {"x86_64": 56, "aarch64": 220}
_TGKILL = {"x86_64": 234, "aarch64": 131}
_CLONE_THREAD = 0x00010000
_EPERM, _ENOSYS = 1, 38
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38


def rules(machine: str, pid: int) -> list[tuple[int, int, int, int]]:
    """The seccomp filter as BPF instructions: (code, jump if true, jump if false, operand)."""
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    no, missing = (_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ERRNO | _ENOSYS)
    yes, kill = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _KILL)
    number = (_LOAD, 0, 0, 0)
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _AUDIT[machine]), kill, number]
    if machine == "x86_64":
        program += [(_AT_LEAST, 0, 1, 0x40000000), no]  # the x32 numbers
    for call in _FORBIDDEN[machine]:
        program += [(_EQUAL, 0, 1, call), no]
    for call in _MISSING:
        program += [(_EQUAL, 0, 1, call), missing]
    for call, argument in _OPENS[machine]:
        flags = (_LOAD, 0, 0, 16 + 8 * argument)
        program += [(_EQUAL, 0, 4, call), flags, (_ANY_BIT, 0, 1, writes), no, yes]
    program += [(_EQUAL, 0, 4, _CLONE[machine]), (_LOAD, 0, 0, 16)]
    program += [(_ANY_BIT, 1, 0, _CLONE_THREAD), no, yes]
    program += [(_EQUAL, 0, 4, _TGKILL[machine]), (_LOAD, 0, 0, 16)]  # abort() is allowed
    return [*program, (_EQUAL, 1, 0, pid), no, yes, yes]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def enter() -> bool:
    """Forbid this process what loading never needs; returns whether the kernel does so."""
    machine = platform.machine()
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if machine not in _AUDIT or sys.maxsize < 1 << 32:
        return False
    program = b"".join(struct.pack("=HBBI", *rule) for rule in rules(machine, os.getpid()))
    text = ctypes.create_string_buffer(program, len(program))
    whole = _Program(len(program) // 8, ctypes.addressof(text))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int, *(4 * [ctypes.c_ulong])]
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(whole), 0, 0) == 0)


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
