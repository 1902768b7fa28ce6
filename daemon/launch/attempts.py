"""Whether a new run is another attempt of one that ended: the same command, started again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..config.run_spec import RunSpec
from ..system import procfs

AGAIN_S = 3600.0
"""Seconds after an end in which the same command in the same folder is another attempt, whoever
started it. Our choice: a spot box comes back within minutes, a person tries again within the hour.
What the same shell or wrapper starts, or comes in the same container, is another attempt at any time."""
OVERLAP_S = 5.0
"""Seconds by which the new start may seem older than the end: start times come from ``btime``, which
is right to a second, and the end is seen a second or two after it."""
_PLACE = re.compile(
    r"^(?:--?|\+{1,2})?(?:[\w.]+[./])?[\w\-]*"
    r"(?:resum|restor|reload|restart|retry|attempt|ckpt|checkpoint|load|init_from|start_from"
    r"|start[-_](?:step|epoch|iter)|continue|latest)[\w\-]*(?:=.*)?$",
    re.IGNORECASE | re.DOTALL,
)
"""Options that say where to start from, or which attempt this is: a wrapper adds and changes them.
Folders to save to are among them, which does no harm: the rest has to be the same."""


def again(earlier: RunSpec, ended_at: float, later: RunSpec) -> bool:
    """True when ``later`` is another attempt of ``earlier``, which ended at ``ended_at``."""
    if later.started_at and later.started_at < ended_at - OVERLAP_S:
        return False
    # Started again, a container may have its folder where /proc shows it under another pid.
    same_container = bool(later.container) and earlier.container == later.container
    if not earlier.command or (earlier.cwd != later.cwd and not same_container):
        return False
    if None not in (earlier.uid, later.uid) and earlier.uid != later.uid:
        return False  # another user's start says nothing about the end of this run
    if not same_command(earlier.command, later.command):
        return False
    parent = (earlier.parent_pid, earlier.parent_ticks)
    kept = None not in parent and parent == (later.parent_pid, later.parent_ticks)
    return kept or same_container or later.started_at - ended_at <= AGAIN_S


def after_failure(
    earlier: RunSpec, status: Mapping[str, int | None] | None, later: RunSpec
) -> bool:
    """True when a wrapper has started ``later`` after ``earlier`` had failed or was killed. ``status``:
    its ``code`` and ``signal``. At a shell without a script it may have been a person, who has reasons."""
    parent = later.parent_pid
    if parent is None or later.parent_ticks is None or not status or not any(status.values()):
        return False
    if (parent, later.parent_ticks) != (earlier.parent_pid, earlier.parent_ticks):
        return False
    return any(not word.startswith("-") for word in (procfs.cmdline(parent) or ())[1:])


def same_command(one: Sequence[str], other: Sequence[str]) -> bool:
    """True for the same command, apart from the options that say where to start from."""
    return list(one) == list(other) or _core(one) == _core(other)


def _core(command: Sequence[str]) -> list[str]:
    """The command without these options and their values."""
    kept: list[str] = []
    skip = False
    for word in command:
        option = word.startswith(("-", "+")) or "=" in word
        if skip and not option:
            skip = False
            continue
        skip = False
        if option and _PLACE.match(word):
            skip = "=" not in word
            continue
        kept.append(word)
    return kept
