"""Tests that look at the whole box, beside tests that want to be the only ones who do.

A ``watch`` without options finds every training of the box, those of other tests too, and follows the
tmux panes they run in. A pane can be followed once, so a test that follows its own must not have such
a search beside it. The lock is a file that all test processes of the box share.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

LOCK = Path(tempfile.gettempdir(), f"middlewatch-tests-{os.geteuid()}.lock")


@contextlib.contextmanager
def searching() -> Iterator[None]:
    """A daemon of this test looks for trainings everywhere; several tests may at once."""
    with _held(fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def not_searched() -> Iterator[None]:
    """No daemon of another test looks for trainings meanwhile."""
    with _held(fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def _held(how: int) -> Iterator[None]:
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
