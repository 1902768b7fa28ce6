"""A run that lives, works and writes, and does nothing but fail: every batch is given up."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..view import View
from .signs import Signs
from .silence import Silence, announced_phases

MANY = 20
"""Complaints since the last sign of progress from which they are no accident. A trainer that skips
bad samples, or retries a request, goes on or gives up before."""
MOSTLY = 0.75
"""Part of the lines since the last sign of progress that must be complaints."""
RECENT_S = 30.0
"""Age in seconds of the newest complaint up to which the failing goes on."""

_TRAINING = re.compile(
    r"(?i)\b(?:batch(?:es)?|steps?|iter(?:ation)?s?|updates?|forward|backward|gradients?|optimizer"
    r"|micro-?batch|minibatch|train(?:ing)?)\b"
)
"""Words by which a complaint is about the training itself: data that is prepared before the first
step may leave out thousands of files without any trouble."""


class Failing(NamedTuple):
    """A loop in which everything fails."""

    times: int
    """Complaints since the last sign of progress."""
    text: str
    """The newest of them."""


def gives_up(view: View) -> bool:
    """True when most of what the log says since the last sign of progress are complaints."""
    signs = view.accumulator(Signs)
    if signs is None:
        return False
    count, others, _, _ = signs.failures()
    return count >= MANY and count >= MOSTLY * (count + others)


def failing(view: View, case: Silence) -> Failing | None:
    """The failures that came instead of progress; ``None`` when there are not enough.

    Before the first step only those count that are about the training itself. During a phase that
    was announced nothing counts, as an evaluation may complain about its own data.
    """
    signs = view.accumulator(Signs)
    if signs is None or not gives_up(view) or announced_phases(view):
        return None
    count, _, newest, text = signs.failures()
    if view.now - newest > max(RECENT_S, 4 * case.silent_s / count):
        return None
    if case.unpaced and not _TRAINING.search(text):
        return None
    return Failing(count, text)
