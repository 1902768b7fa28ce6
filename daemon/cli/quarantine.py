"""``verify --quarantine``: a save that is bad gets a name that no trainer resumes from.

A rename and nothing else: the bytes are evidence, and a person may take the name off again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..checkpoints.retention.pointers import pointers
from ..checkpoints.verify.writer import writer_of
from ..system.clock import iso
from . import console

END = ".quarantined"
BAD = ("corrupt", "incomplete")
STILL_S = 120.0
"""Seconds for which a save must not have changed: longer than the pauses between the parts of one that is written
(a folder is given 90 s before the daemon calls it bad)."""


def quarantine(
    found: Sequence[Mapping[str, Any]],
    newest: Mapping[str, float],
    now: float,
    *,
    say: Callable[[str], None],
) -> None:
    """Rename those of ``found`` that are bad, and tell it.

    ``newest``: by path, the time of its newest file (epoch seconds), of those that did not change
    while they were verified.
    """
    for entry in found:
        path = entry["path"].rstrip("/")
        if entry["state"] not in BAD or path not in newest:
            continue
        why = _objection(path, newest[path], now)
        if why:
            console.complain(f"not renamed: {path}: {why}")
            continue
        named = pointers([path]).get(path)
        try:
            os.rename(path, path + END)
        except OSError as error:
            console.complain(f"not renamed: {path}: {error.strerror}")
            continue
        say(f"renamed: {path + END}" + (f" ({named}: it must name another)" if named else ""))


def _objection(path: str, changed_at: float, now: float) -> str:
    if os.path.islink(path):
        return "it is a link"
    if abs(now - changed_at) < STILL_S:
        return f"it was written at {str(iso(changed_at))[11:19]}, and may still be"
    writer = writer_of(path)
    if writer is not None:
        return f"process {writer} has it open for writing"
    return "there is one of that name already" if os.path.lexists(path + END) else ""
