"""Whether a run that has ended is started again by itself: a pure decision on its attempts so far.

It is made only for a run whose person asked for it (``--again N``). The handbook says of each class of
trouble whether a retry can help; this module adds a limit, growing pauses, and that each attempt has to
get further than all before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit.numbers import number

from ..config.schema import Again

FACTOR = 4.0
"""Each pause is so many times as long as the one before (our choice): with 1 min at first, the third is
16 min, which is the time that a network or a price of a spot box may need."""
ALLOWED = frozenset({"yes", "once"})
"""Values of ``retry`` in the handbook with which a run is started again without a person. ``ask`` and
``none`` are not among them: a person ended it, or nothing is known to be wrong."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt that has ended. Times are epoch seconds."""

    run: str
    ended_at: float
    cause: str = ""
    """Class of the trouble that ended it; empty: not known."""
    retry: str = ""
    """What the handbook says of a retry after that class: a value of ``RETRIES``."""
    step: float | None = None
    """The furthest step that it was seen to make; ``None``: none was seen."""
    finished: bool = False
    by_person: bool = False
    """A person ended it."""
    timed_out: bool = False
    """It reached the time limit that its person set."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Start it again at ``at`` (epoch seconds); ``why``: the end of a sentence, for a person."""

    at: float
    why: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Leave it; ``quiet``: nobody expects it to go on, so nothing has to be told."""

    why: str
    quiet: bool = False


Decision = Resume | Stop


def decide(
    attempts: Sequence[Attempt], used: int, most: int, limits: Again, now: float
) -> Decision:
    """What becomes of the last of ``attempts`` (oldest first), which has ended.

    ``used``: how often it was started again by itself so far; ``most``: how often it may be.
    """
    *before, last = attempts
    if last.finished:
        return Stop("it finished", quiet=True)
    if last.by_person or last.retry == "ask":
        return Stop("a person ended it", quiet=True)
    if last.timed_out:
        return Stop("it has reached its time limit (max_time_s)")
    if not last.cause:
        return Stop("why it ended is not known")
    if last.retry not in ALLOWED:
        return Stop(f"after {last.cause} a retry does not help: {_advice(last.cause)}")
    if last.retry == "once" and any(one.cause == last.cause for one in before):
        return Stop(f"{last.cause} came again{_at(last)}: {_advice(last.cause)}")
    if used >= most:
        times = "once" if used == 1 else f"{used} times"
        return Stop(f"it was started again {times}, which is the limit (--again {most})")
    if before and (stuck := _no_gain(before, last)):
        return Stop(stuck)
    pause = min(limits.longest_pause_s, limits.pause_s * FACTOR**used)
    return Resume(max(now, last.ended_at + pause), f"after {last.cause}{_at(last)}")


def _no_gain(before: Sequence[Attempt], last: Attempt) -> str:
    """Why the last attempt has gained nothing over those before it; empty if it has."""
    known = [one for one in before if one.step is not None]
    best = max(known, key=lambda one: one.step or 0.0, default=None)
    if last.step is None:
        return "no step was gained: the last attempt made none that was seen"
    if best is None or best.step is None or last.step > best.step:
        return ""
    same = "ended there" if last.step == best.step else f"got to step {number(best.step)}"
    cause = f", and by {last.cause} as well" if last.cause == best.cause else ""
    return f"no step was gained: it ended at step {number(last.step)}, and {best.run} {same}{cause}"


def _at(one: Attempt) -> str:
    return "" if one.step is None else f" at step {number(one.step)}"


def _advice(trouble: str) -> str:
    entry = page(trouble)
    words = entry.sections["Retry"] if entry else "the handbook has no page of it"
    return words[0].lower() + words[1:].rstrip(".")


def cause_of(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """(class, retry) of the trouble that decides among ``rows``: the open incidents of a run that may
    have ended it, each with its ``class``.

    The one that forbids most comes first: what does not help with one of several troubles does not help.
    Classes about which there is nothing to retry have ended no run. Empty texts: none is left.
    """
    known = [(row["class"], entry.retry if (entry := page(row["class"])) else "") for row in rows]
    ended = [one for one in known if one[1] != "none"]
    order = {"yes": 3, "once": 2, "ask": 1}
    return min(ended, key=lambda one: order.get(one[1], 0), default=("", ""))


def time_limit(command: Sequence[str]) -> float | None:
    """Seconds after which ``timeout``, as :mod:`..jobs.local` puts it before a command, ends it."""
    if list(command[:1]) != ["timeout"]:
        return None
    word = next((one for one in command[1:] if not one.startswith("-")), "")
    return float(word[:-1]) if word[-1:] == "s" and word[:-1].isdigit() else None
