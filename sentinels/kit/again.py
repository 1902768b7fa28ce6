"""A program that fails inside a run that goes on: a wrapper starts it again, or starts the next one.

The main process of such a run is a shell, a queue or a supervisor, which lives on. What its log says
is judged against its progress: the same exception for the third time, and no step beyond the one
where it came first, is a loop. A counter that begins anew after the exception is another program,
or the same one from the beginning; one that goes on nearby is a resume, which is nobody's trouble.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from .observations import LogEvent, ProcessEnded, Step
from .view import View

LOOP = 3
"""Times that a program must have failed in the same way: the first, and two that were tried again
(our choice: one retry may be luck, two that end in the same way are none)."""
APART_S = 3.0
"""Seconds between two failures: ranks that fail together print within that time, and a program that
is started again needs it for its imports."""
RECENT_S = 300.0
"""Seconds for which a loop is shown after its newest failure, or three of its rounds."""
ALONE_S = 1.0
"""The same for a run without ranks: no program starts, imports its libraries and fails in less."""
DIED_S = 6.0
"""Seconds between the exception and the end of its process: one read of a new process, and one look
at those that are gone."""
ANEW = 0.5
"""A counter that goes on below this part of where it was begins anew; above, it was resumed."""

_SHELL_SAYS = ("terminated-word", "killed-word")
"""Signatures of a shell's word about a program that a signal has ended."""
KILLS = (4, 6, 7, 8, 9, 11)
"""Signals by which a program is killed or crashes; parents end their workers with others."""
_STEP = itemgetter(1)
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
ROUNDS = 4
"""Times that the counter must have gone back nearby before that is a loop. A recipe may go back
once or twice for a batch that it skips then (our choice)."""
SAME_ROUNDS = 3
"""The same for a program that is started again each time, and goes back to the same step: to a save
after which it finds none."""


class Rounds(NamedTuple):
    """A run whose step counter goes back nearby again and again."""

    times: int
    first_at: float
    to: float
    """Step to which it went back last."""
    top: float
    """The step beyond which it does not come."""


class Loop(NamedTuple):
    """A program that fails again and again."""

    newest: LogEvent
    first_at: float
    times: int
    step: float | None
    """The step beyond which it does not come."""


def crash_loop(view: View, since: float) -> Loop | None:
    """The loop that the run is in, by its log since ``since`` (epoch seconds)."""
    raised = _raised(view, since)
    if len(raised) < LOOP:
        return None
    newest = raised[-1]
    starts: list[LogEvent] = []
    apart_s = APART_S if _has_ranks(view) else ALONE_S
    last = float("-inf")
    for event in (e for e in raised if _alike(e, newest)):
        if event.at - last > apart_s:
            starts.append(event)
        last = event.at
    if len(starts) < LOOP:
        return None
    first, rounds = starts[0], len(starts) - 1
    if not _starts_others(view, first.at):
        return None
    if view.now - last > max(RECENT_S, 3 * (starts[-1].at - first.at) / rounds):
        return None
    reached = [number for at, number in view.step_times if at <= first.at]
    later = [number for at, number in view.step_times if at > first.at]
    if later and (not reached or max(later) > max(reached)):
        return None
    if _came_further(view, first.at):
        return None  # steps may be counted within each epoch
    if not view.step_times and not _no_longer(view, starts):
        return None  # reports without a step: they may be progress
    return Loop(newest, first.at, len(starts), max(reached) if reached else None)


def _has_ranks(view: View) -> bool:
    """True for several processes that may raise the same exception at once."""
    samples = view.process_samples
    return bool(samples) and sum(p.rank is not None for p in samples[-1].processes) > 1


def _starts_others(view: View, since: float) -> bool:
    """False for a Python program of which no other process has ended since: what it logs again and again
    it has caught, because nobody could have started it again."""
    if _lives_on(view, since):
        return False
    ended = (end.at for end in view.endings if not end.main)
    if not view.process_samples or any(at >= since - DIED_S for at in ended):
        return True
    return _of_a_shell(view)


def _lives_on(view: View, since: float) -> bool:
    """True when a Python program of the run was there before ``since`` and is there still, and no process is new: it
    logs what it has caught."""
    looks = view.process_samples
    before = [look for look in looks if look.at < since]
    if not before or before[-1] is looks[-1]:
        return False
    old = {(p.pid, p.start_ticks) for p in before[-1].processes}
    seen = {(p.pid, p.start_ticks): p for look in looks if look.at >= since for p in look.processes}
    now = {(p.pid, p.start_ticks) for p in looks[-1].processes}
    return seen.keys() <= old and any(
        key in now and p.name.startswith(("python", "pt_")) for key, p in seen.items()
    )


def _of_a_shell(view: View) -> bool:
    """True when the main process is no Python: an exception that nobody caught has ended a program that it
    has started, even if that lived too briefly to be seen."""
    seen = view.process_samples[-1].processes if view.process_samples else ()
    names = [p.name for p in seen if p.pid == view.run.pid]
    return bool(names) and not any(name.startswith(("python", "pt_")) for name in names)


def _of_another(view: View, event: LogEvent) -> bool:
    """True for an exception that went through the top of a script which the command of the run does not
    name: the run started that program, and it failed before anybody saw it live."""
    script = str(event.details.get("script", "")).rpartition("/")[2]
    return bool(script and view.run.command) and script not in view.run.command


def _came_further(view: View, at: float) -> bool:
    """True when a later step of the same epoch, or of a later one, was reported after ``at`` (epoch
    seconds) than before."""
    told = [
        (step.at, (step.epoch, step.number))
        for step in view.steps
        if step.epoch is not None and step.number is not None
    ]
    before = max((place for when, place in told if when <= at), default=None)
    return before is not None and any(when > at and place > before for when, place in told)


def of_the_last_program(events: Sequence[LogEvent]) -> list[LogEvent]:
    """Without the words of a shell about a program that was killed, if another one failed after it."""
    raised = [e.at for e in events if e.role == "root" and "exception" in e.details]
    last = max(raised, default=float("-inf"))
    return [e for e in events if e.signature not in _SHELL_SAYS or e.at > last - APART_S]


def _no_longer(view: View, failures: Sequence[LogEvent]) -> bool:
    """True when no round has shown more reports than the first one, in a run that numbers no steps,
    and none was at its last epoch: jobs of a queue may be equal in length."""
    ends = [event.at for event in failures]
    made = [0] * (len(ends) + 1)
    for step in view.steps:
        made[bisect.bisect_left(ends, step.at)] += 1
        if step.epochs is not None and step.epoch is not None and step.epoch >= step.epochs:
            return False
    return max(made[1:]) <= made[0]


def tolerated(view: View, error: LogEvent) -> bool:
    """True when the run has gone on after the same error before: its script expects that (``|| true``)."""
    return any(
        _alike(e, error) and error.at - e.at > APART_S and view.went_on_after(e)
        for e in _raised(view, view.run.started_at)
    )


def failed_part(view: View, since: float, but: Collection[str] = ()) -> LogEvent | None:
    """What ended a program of the run, after which another one began: an exception, or a kill of
    which a shell says so. Classes of ``but`` are left out."""
    said = (e for e in view.events if e.at >= since and e.signature in _SHELL_SAYS)
    for event in sorted([*_raised(view, since), *said], key=lambda e: (e.at, e.line), reverse=True):
        died = any(
            not end.main and end.exit_code != 0 and abs(end.at - event.at) <= DIED_S
            for end in view.endings
        )
        unseen = _of_a_shell(view) and not _lives_on(view, event.at)
        ended = died or unseen or _of_another(view, event)
        if event.trouble not in but and ended and _begun_anew(view.steps, event):
            return event
    return None


def killed_part(view: View, since: float) -> ProcessEnded | None:
    """The process whose bad end was followed by a counter that begins anew, as the newest such."""
    for ending in reversed(view.endings):
        if ending.main or ending.at < since:
            continue
        if ending.signal in KILLS and _anew_since(view.steps, ending.at):
            return ending
    return None


def rounds(view: View) -> Rounds | None:
    """How often the counter went back to a step in the upper half of where it was, without ever
    coming further; ``None`` for less than :data:`ROUNDS` times, or when epochs went on."""
    marks = view.step_times
    if len(marks) < 2 * SAME_ROUNDS:
        return None
    if max(islice(map(_STEP, marks), len(marks) - 1)) < marks[-1][1]:
        return None  # the usual case, with every report: it has come further than ever
    epochs = {step.epoch for step in view.steps if step.epoch is not None}
    top, back = float("-inf"), list[tuple[float, float]]()
    before = marks[0][1]
    for at, step in marks:
        if step > top:
            top, back = step, []
        elif step < before:
            if step < ANEW * top:
                return None  # an epoch, or another program, counts from its beginning
            back.append((at, step))
        before = step
    restarts = sum(not end.main and end.at >= view.now - RECENT_S for end in view.endings)
    same = len({step for _, step in back}) == 1 and restarts >= len(back)
    if len(back) < (SAME_ROUNDS if same else ROUNDS) or len(epochs) > 1:
        return None
    return Rounds(len(back), back[0][0], back[-1][1], top)


def _anew_since(steps: Sequence[Step], at: float) -> bool:
    """True when the counter of the first report after ``at`` is that of another start, within the
    same epoch: what ends with every epoch is a worker."""
    after = next((s for s in steps if s.at > at), None)
    before = next((s for s in reversed(steps) if s.at <= at), None)
    if after is None or before is None or after.number is None or before.number is None:
        return False
    if before.epoch is not None and after.epoch is not None and after.epoch > before.epoch:
        return False
    return after.number <= ANEW * before.number


def _begun_anew(steps: Sequence[Step], event: LogEvent) -> bool:
    """True when the counter after the event is that of another program."""
    counted = [
        s for s in steps if s.file == event.file and (s.number is not None or s.epoch is not None)
    ]
    after = next((s for s in counted if s.line > event.line), None)
    before = next((s for s in reversed(counted) if s.line < event.line), None)
    if after is None or before is None:
        return False
    if before.epoch is not None and after.epoch is not None and after.epoch > before.epoch:
        return False  # it counts its batches within each epoch
    for was, now in ((before.number, after.number), (before.epoch, after.epoch)):
        if was is not None and now is not None:
            return now <= max(1.0, ANEW * was)
    return False


def _raised(view: View, since: float) -> list[LogEvent]:
    return [
        e
        for e in view.events
        if e.at >= since and e.fatal and e.role == "root" and "exception" in e.details
    ]


def _alike(one: LogEvent, other: LogEvent) -> bool:
    """True for the same exception, whatever the numbers in its message."""
    return one.trouble == other.trouble and _kind(one) == _kind(other)


def _kind(event: LogEvent) -> str:
    words = f"{event.details.get('exception')} {event.details.get('message')}"
    return _NUMBER.sub("0", words)[:160]


def started_again(view: View, since: float) -> bool:
    """True when the launcher has started ranks after the failure: they need time to begin."""
    old = {p.pid for look in view.process_samples if look.at <= since for p in look.processes}
    newest = view.process_samples[-1].processes if view.process_samples else ()
    return bool(old) and any(p.rank is not None and p.pid not in old for p in newest)
