"""A worker of the program that ended badly for good, while the program goes on without it.

An actor, a writer of the replay buffer, a process that evaluates or saves: the training started it as
another process of its own program, and goes on reporting when it is dead, with what is left or with
nothing new at all. A pool or a supervisor starts another one in its place; then nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .again import DIED_S, KILLS
from .observations import LogEvent, ProcessEnded, ProcessesSeen, ProcessSample
from .on_purpose import on_purpose
from .trials import trials_of
from .view import View

LIVED_S = 10.0
"""Seconds that the process must have lived: short ones are commands that the program runs (our choice)."""
NOT_REPLACED_S = 45.0
"""Seconds after its end in which another one may still take its place: a restart with its imports
took up to 30 s in our tests."""
FORGOTTEN_S = 110.0
"""Seconds after its end for which the samples of before are kept (two minutes)."""
GOES_ON = 2
"""Steps that the rest must have made since, ..."""
NOT_ASKED = frozenset((6, 7, 9, 11))
"""SIGABRT, SIGBUS, SIGKILL, SIGSEGV: with these no program ends its own workers in an orderly way."""
SETTLES_S = 10.0
"""Seconds after the end in which the others may still finish what they have."""
LEAST_CORES, STILL = 0.02, 0.1
"""CPU cores that the run must have used before, and the part of them below which it stands still (our
choice; a deadlock uses 0.00)."""
WORKS_CORES = 0.05
"""CPU cores from which the rest of a run works (our choice; a deadlock uses 0.00)."""
HEARD_S = 20.0
"""... or, in a run that has no steps, seconds after the end in which its log must still grow."""
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ash", "busybox"))
"""A child of these with the same name is a part of a script (``serve &``), not a worker."""
TRIALS = 2
"""Trials of a search for each of its workers that must have begun or ended while the lost one lived: a
process that runs a single trial may fail with it."""


class LostPart(NamedTuple):
    """A process that is gone for good."""

    ended: ProcessEnded
    parent: ProcessSample
    error: LogEvent | None
    """The exception that the log shows at that moment."""
    stands: bool = False
    """Nothing of the run computes since: it waits for the lost one."""


def lost_part(view: View, since: float) -> LostPart | None:
    """The worker that ended badly since ``since`` (epoch seconds) and that nobody replaced."""
    for ending in reversed(view.endings):
        age = view.now - ending.at
        if ending.at < since or age > FORGOTTEN_S:
            return None
        if ending.main or age < NOT_REPLACED_S or ending.rank is not None:
            continue
        if ending.exit_code == 0:
            continue  # the usual case: the workers of a loader end with every epoch
        error = next(_raised(view, ending), None)
        stands = ending.signal in NOT_ASKED and _stands_still(view, ending)
        if not _badly(ending, error) or not (stands or _goes_on(view, ending)):
            continue
        if on_purpose(view, ending.at, pid=ending.pid) or _usual_end(view, ending, error):
            continue
        parent = _missed_by(view, ending)
        if parent is not None:
            return LostPart(ending, parent, error, stands)
    return None


def _usual_end(view: View, ending: ProcessEnded, error: LogEvent | None) -> bool:
    """True for a status of the program's own choice with which such processes end at other times as well, while
    it went on: it begins them anew from time to time, as actors that leak memory."""
    if error is not None or ending.signal is not None or ending.exit_code in (None, 1):
        return False
    return any(
        (e.name, e.exit_code) == (ending.name, ending.exit_code) and abs(e.at - ending.at) > DIED_S
        for e in view.endings
    )


def _badly(ending: ProcessEnded, error: LogEvent | None) -> bool:
    if ending.signal is not None:
        return ending.signal in KILLS
    return error is not None if ending.exit_code is None else ending.exit_code != 0


def _goes_on(view: View, ending: ProcessEnded) -> bool:
    if view.step_times:
        return view.steps_after(ending.at) >= GOES_ON
    return (view.heard_at or 0.0) >= ending.at + HEARD_S


def _stands_still(view: View, ending: ProcessEnded) -> bool:
    """True when the run computed before a process of it was killed, and hardly does since."""
    looks = view.process_samples
    before = _cores(view, [k for k in looks if k.at <= ending.at])
    after = _cores(view, [k for k in looks if k.at >= ending.at + SETTLES_S])
    return (
        before is not None and after is not None and before > LEAST_CORES and after < STILL * before
    )


def computes(view: View, since: float) -> bool:
    """True while what is left of the run works: what failed was beside it, as the tests of its code
    are in the same terminal."""
    looks = [look for look in view.process_samples if look.at > since]
    if len(looks) < 2 or looks[-1].at <= looks[0].at:
        return False
    before = {p.pid: p.cpu_s for p in looks[0].processes}
    used = sum(max(0.0, p.cpu_s - before.get(p.pid, p.cpu_s)) for p in looks[-1].processes)
    return used / (looks[-1].at - looks[0].at) >= WORKS_CORES


def _cores(view: View, looks: list[ProcessesSeen]) -> float | None:
    """CPU cores that the processes in all of these looks have used; ``None`` for too few looks."""
    if len(looks) < 2 or looks[-1].at - looks[0].at < HEARD_S / 2:
        return None
    first = {(p.pid, p.start_ticks): p.cpu_s for p in looks[0].processes}
    used = sum(p.cpu_s - first.get((p.pid, p.start_ticks), p.cpu_s) for p in looks[-1].processes)
    return used / (looks[-1].at - looks[0].at)


def _raised(view: View, ending: ProcessEnded) -> Iterator[LogEvent]:
    for event in reversed(view.events):
        if "exception" in event.details and abs(event.at - ending.at) <= DIED_S:
            yield event


def _missed_by(view: View, ending: ProcessEnded) -> ProcessSample | None:
    """The parent, if it lives and has had fewer processes of this kind ever since."""
    before = _last_before(view, ending)
    if before is None or not view.process_samples:
        return None
    own = next((p for p in before.processes if p.pid == ending.pid), None)
    parent = own and next((p for p in before.processes if p.pid == own.ppid), None)
    if own is None or parent is None:
        return None
    kin = len(_kin(before, own))
    search = trials_of(view) is not None
    other = parent.name != own.name or parent.name in SHELLS
    if other and not (search and kin > 1):
        return None  # another program, or started by a shell: beside the training, not a part of it
    first = next((look for look in view.process_samples if _has(look, own)), before)
    if ending.at - first.at < LIVED_S:
        return None
    if search:
        made = sum(p.name == "trial" and first.at <= p.at <= ending.at for p in view.phases)
        if made < TRIALS * kin:
            return None
    newest = view.process_samples[-1]
    if not _has(newest, parent) or len(_kin(newest, own)) >= kin:
        return None
    return parent


def _last_before(view: View, ending: ProcessEnded) -> ProcessesSeen | None:
    looks = reversed(view.process_samples)
    return next((k for k in looks if any(p.pid == ending.pid for p in k.processes)), None)


def _has(look: ProcessesSeen, one: ProcessSample) -> bool:
    return any((p.pid, p.start_ticks) == (one.pid, one.start_ticks) for p in look.processes)


def _kin(look: ProcessesSeen, one: ProcessSample) -> list[ProcessSample]:
    """The processes of the same parent with the same name."""
    return [p for p in look.processes if p.ppid == one.ppid and p.name == one.name]
