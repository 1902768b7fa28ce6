"""Processes that a /proc mounted with ``hidepid`` hides from us."""

from __future__ import annotations

import os

from . import procfs


def hidden(pid: int, root: str) -> PermissionError:
    """The error that says so, with what to do about it."""
    what = f"process {pid} is hidden from us: {root} is mounted with hidepid"
    return PermissionError(f"{what}; watch as root or as the user who runs the training")


def say_if_hidden(pid: int, root: str) -> None:
    """Raise PermissionError if ``pid`` exists but its directory is hidden."""
    if root != procfs.PROC or procfs.exists(pid, root):
        return
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return
    except OSError as error:
        raise hidden(pid, root) from error
    raise hidden(pid, root)
