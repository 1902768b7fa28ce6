"""Name a file by one system call, if no part of its path is a link (openat2, Linux 5.6).

:mod:`.places` follows a path name by name, because a link may lead somewhere else than whoever asks may read.
On a path without any link there is nothing to follow, and one call in place of twenty does: the kernel
itself refuses every link, at the moment at which it resolves the name.
"""

from __future__ import annotations

import ctypes
import errno
import os

_OPENAT2 = 437
"""Number of the call on all architectures (include/uapi/asm-generic/unistd.h)."""
_NO_SYMLINKS = 0x04
"""RESOLVE_NO_SYMLINKS of linux/openat2.h: also none of those that the kernel makes in /proc."""
_AT_FDCWD = -100
_MISSING = (errno.ENOSYS, errno.EPERM, errno.EINVAL)
"""What an older kernel says, and a filter of system calls that cannot see the flags of this one."""


class _How(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


def _how(more: int) -> tuple[_How, int, int]:
    how = _How(getattr(os, "O_PATH", 0) | os.O_CLOEXEC | more, 0, _NO_SYMLINKS)
    return how, ctypes.addressof(how), ctypes.sizeof(how)


ANY, FOLDER = _how(0), _how(os.O_DIRECTORY)
"""What the last name of the path may be."""
_libc = ctypes.CDLL(None, use_errno=True)
_call = getattr(_libc, "syscall", None) if hasattr(os, "O_PATH") else None
if _call is not None:
    _call.argtypes = (
        *(ctypes.c_long, ctypes.c_int, ctypes.c_char_p),
        *(ctypes.c_void_p, ctypes.c_size_t),
    )
    _call.restype = ctypes.c_long
_there = _call is not None


def name(path: str, what: tuple[_How, int, int]) -> int:
    """A descriptor that names the file (``O_PATH``), or -1: a link is on the way, it is not there, or this kernel
    has no such call. Then the path has to be followed name by name, which also says why."""
    global _there
    if not _there or _call is None or "\0" in path:
        return -1
    _, address, size = what
    fd = int(_call(_OPENAT2, _AT_FDCWD, os.fsencode(path), address, size))
    if fd < 0 and ctypes.get_errno() in _MISSING:
        _there = False
    return fd
