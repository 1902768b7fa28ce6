"""Programs that leave because they were asked to, or because their time is over, and that will go on.

They save, and end with 0 or with a status of their own choice, which their queue knows.
"""

from __future__ import annotations

import re

from .forecast import Deadlines
from .observations import LogEvent, Phase, ProcessEnded
from .vanished import notice_of, signal_of
from .view import View

JUST_SAVED_S = 15.0
"""Seconds between a save and the end of a program that saves in order to leave (our choice)."""
ENDED_HERE = "middlewatch end"
"""The file of the phase ``stop`` that the daemon adds when a person ends a run through it."""
ENDS_S = 60.0
"""Seconds that a program may need to end after that: torchrun gives its ranks 30."""
OVER_S = 3.0
"""Seconds between the end of a program and that of its time, which is computed from its start to 10 ms: on a
busy box a signal comes late."""
_KILL, _TERMINATE = 9, 15
WROTE_S = 1.0
"""Seconds between a save and the line before it, as they are seen."""
_ASKED = ("sigterm_received", "interrupted", "preempted")
_REQUEUED = re.compile(
    r"(?i)\bre-?(?:queue[ds]?|queue?ing|submit(?:s|ted|ting)?|schedule[ds]?|scheduling)\b"
)
"""Words of a queue that it starts the job again."""
_PLACE_TAKEN = re.compile(r"CANCELLED AT .{0,60}DUE TO PREEMPTION")
"""Slurm's words for a job whose place another one takes. It begins again in two minutes at the earliest, and
when that is nobody knows: no short queue."""


def may_begin_again(view: View, ending: ProcessEnded, cause: LogEvent | None, told: str) -> bool:
    """True for a job that its queue says it starts again, and for one that ended with a status of its
    own choice after a save, without an error, or that saved when it was asked to leave: a short queue
    may start it again at once."""
    if cause is not None and _PLACE_TAKEN.search(cause.text):
        return False
    if time_is_over(view, ending):
        return True  # a share of time: what it was for may begin soon
    if told == "sigterm_received" and cause is not None and left_in_order(view, cause):
        return True  # a slot of time that is over: the next one may begin soon
    if not ending.exit_code or told:
        return False
    if cause is not None:
        return _REQUEUED.search(cause.text) is not None or left_in_order(view, cause)
    return _just_saved(view, ending)


def time_is_over(view: View, ending: ProcessEnded) -> bool:
    """True for a program that the ``timeout`` it was started under has ended, as its command line says."""
    clocks = view.accumulator(Deadlines)
    limit = clocks.known.get("timeout") if clocks is not None else None
    ended = signal_of(ending) in (_KILL, _TERMINATE)
    return limit is not None and ended and abs(ending.at - limit.ends_at) <= OVER_S


def left_at_its_limit(view: View, ending: ProcessEnded) -> LogEvent | None:
    """The word that its time ends, for a program that has saved since and ended with 0: it is to go on later."""
    told = notice_of(view, ending) if ending.exit_code == 0 else None
    if told is None or told.trouble != "slurm_time_limit":
        return None
    return told if _saved_since(view, told) else None


def as_planned(view: View, ending: ProcessEnded, told: str) -> str:
    """Words about a program whose end somebody wanted: a person ended it through the watch; it caught Ctrl-C,
    saved, and ended by itself with the status for that; or its time was over, and the script that gave it goes
    on. Empty for others."""
    if ended_here(view, ending):
        return ", as a person asked"
    if told == "interrupted" and ending.exit_code is not None and _just_saved(view, ending):
        return " and has saved before"
    if view.run.goes_on and time_is_over(view, ending):
        return ", as its script has it, which goes on"
    return ""


def ended_here(view: View, ending: ProcessEnded) -> bool:
    """True for a program that a person ended through the watch (``middlewatch end``)."""
    return any(_ends_it(phase, ending) for phase in reversed(view.phases))


def _ends_it(phase: Phase, ending: ProcessEnded) -> bool:
    asked = phase.name == "stop" and phase.file == ENDED_HERE
    return asked and 0 <= ending.at - phase.at <= ENDS_S and str(ending.pid) in phase.text.split()


def _just_saved(view: View, ending: ProcessEnded) -> bool:
    times = [c.saved_at for c in view.checkpoints] + [c.at for c in view.claimed_saves]
    return any(0 <= ending.at - at <= JUST_SAVED_S for at in times)


def left_in_order(view: View, cause: LogEvent) -> bool:
    """True for a program that says that it was asked to leave, and has saved since."""
    return cause.trouble in _ASKED and _saved_since(view, cause)


def _saved_since(view: View, cause: LogEvent) -> bool:
    claimed = any(c.at >= cause.at and c.line > cause.line for c in view.claimed_saves)
    return claimed or any(c.saved_at >= cause.at - WROTE_S for c in view.checkpoints)
