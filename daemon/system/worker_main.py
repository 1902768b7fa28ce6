"""The child's side of :mod:`.child`: lowest priority, one question a line, one answer a line."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import select
import sys
from collections.abc import Callable
from typing import Any

_LONGEST_QUESTION = 64 << 10
# ioprio_set(2): IOPRIO_WHO_PROCESS, 0 = the caller, IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT.
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_WHO_PROCESS, _IDLE_CLASS = 1, 3 << 13


def step_back() -> None:
    """Take the lowest priority that the kernel has, for processor and disk; best effort."""
    with contextlib.suppress(OSError):
        os.nice(19)
    number = _IOPRIO_SET.get(platform.machine())
    if number is not None:
        ctypes.CDLL(None).syscall(number, _WHO_PROCESS, 0, _IDLE_CLASS)


def serve(answer_to: Callable[[bytes], dict[str, Any]], quiet_s: Callable[[], float]) -> None:
    """Answer lines from stdin until it ends, or nobody has asked for ``quiet_s()`` seconds.

    Of a line longer than 64 KiB the beginning is dropped: it is no question of ours.
    """
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    pending = b""
    while waiting.poll(quiet_s() * 1000):
        chunk = os.read(0, 1 << 16)
        if not chunk:
            return
        *lines, pending = (pending + chunk).split(b"\n")
        if len(pending) > _LONGEST_QUESTION:
            pending = b""
        for line in lines:
            answer = json.dumps(answer_to(line), separators=(",", ":"), allow_nan=False)
            sys.stdout.write(answer + "\n")
            sys.stdout.flush()
