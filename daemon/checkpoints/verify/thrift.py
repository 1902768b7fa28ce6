"""Memory that is free goes back to the kernel at once.

A table of 34,000 tensors is gone before numpy comes, which takes as much. Left to itself glibc
keeps what it was given back, and takes larger and larger pieces from where they cannot be given
back one by one (mallopt(3), M_MMAP_THRESHOLD): 4 MB more at the peak (measured).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""malloc.h of glibc."""
_BYTES = 128 << 10
"""What both are to begin with; set by somebody, they stay."""


def begin() -> None:
    """For this whole process; does nothing where the C library has no such thing."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return
    mallopt(_MMAP_THRESHOLD, _BYTES)
    mallopt(_TRIM_THRESHOLD, _BYTES)


def now() -> None:
    """What large tables have left behind: objects kept for later, and holes (malloc_trim(3))."""
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
