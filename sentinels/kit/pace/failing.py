"""A run that lives, works and writes, and does nothing but fail: every batch is given up."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..view import View
from .signs import Signs
from .silence import Silence, announced_phases, last_sign

MANY = 20
"""Complaints since the last sign of progress from which they are no accident. A trainer that skips
bad samples, or retries a request, goes on or gives up before."""
TRIES = 4
"""The same where the newest one says that it is tried again: waits that grow from try to try leave time for few of
them (our choice; libraries try three to five times)."""
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


_AGAIN = re.compile(
    r"(?i)\b(?:re-?try(?:ing)?|retries|attempts? #?\d+|(?:next|new) (?:try|attempt)|try(?:ing)? (?:it )?again|back(?:ing)? ?off|reconnect\w*)\b"
    r"|\b(?:erneut|neuer versuch|reintent\w*|nouvel(?:le)? (?:essai|tentative)|повтор\w*|попытк\w*)\b|重试|再试|リトライ|再試行|재시도"
)


class Failing(NamedTuple):
    """A loop in which everything fails."""

    times: int
    """Complaints since the last sign of progress."""
    text: str
    """The newest of them."""
    again: bool = False
    """It says that the same is tried again, of a run that has made progress before."""


def gives_up(view: View) -> bool:
    """True when most of what the log says since the last sign of progress are complaints."""
    signs = view.accumulator(Signs)
    if signs is None:
        return False
    count, others, _, text = signs.failures()
    wanted = TRIES if _AGAIN.search(text) else MANY
    return count >= wanted and count >= MOSTLY * (count + others)


def failing(view: View, case: Silence) -> Failing | None:
    """The failures that came instead of progress; ``None`` when there are not enough.

    Before the first step only those count that are about the training itself. During a phase that
    was announced nothing counts, as an evaluation may complain about its own data.
    """
    signs = view.accumulator(Signs)
    if signs is None or not gives_up(view):
        return None
    count, _, newest, text = signs.failures()
    again = _AGAIN.search(text) is not None and last_sign(view)[0] is not None
    # "next try in 30 s" announces a pause, and nothing else
    if any(not again or phase.name != "pause" for phase in announced_phases(view)):
        return None
    if view.now - newest > max(RECENT_S, 4 * case.silent_s / count):
        return None
    if case.unpaced and not again and not _TRAINING.search(text):
        return None
    return Failing(count, text, again)
