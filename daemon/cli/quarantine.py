"""``verify --quarantine``: a save that is bad gets a name that no trainer resumes from. ``resume --exec`` does it too, if
the configuration says so: some trainers take the newest save by themselves.

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
        if entry["state"] in BAD and path in newest:
            _rename(path, _objection(path, newest[path], now), say)


def quarantine_before_resume(
    skipped: Sequence[Mapping[str, Any]], *, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Rename what is bad and newer than the save from which a run is started again; its writer has ended, so that
    nobody waits until it has been still.

    Returns ``skipped`` with the state ``gone`` for those that have another name now.
    """
    found = []
    for one in skipped:
        path = one["path"].rstrip("/")
        renamed = one["state"] in BAD and _rename(path, _objection(path, None, 0.0), say)
        said = f"it is {os.path.basename(path)}{END} now: {one['detail']}"
        found.append({**one, "state": "gone", "detail": said} if renamed else dict(one))
    return found


def _rename(path: str, why_not: str, say: Callable[[str], None]) -> bool:
    if why_not:
        console.complain(f"not renamed: {path}: {why_not}")
        return False
    named = pointers([path]).get(path)
    try:
        os.rename(path, path + END)
    except OSError as error:
        console.complain(f"not renamed: {path}: {error.strerror}")
        return False
    say(f"renamed: {path + END}" + (f" ({named}: it must name another)" if named else ""))
    return True


def _objection(path: str, changed_at: float | None, now: float) -> str:
    if os.path.islink(path):
        return "it is a link"
    if changed_at is not None and abs(now - changed_at) < STILL_S:
        return f"it was written at {str(iso(changed_at))[11:19]}, and may still be"
    writer = writer_of(path)
    if writer is not None:
        return f"process {writer} has it open for writing"
    return "there is one of that name already" if os.path.lexists(path + END) else ""
