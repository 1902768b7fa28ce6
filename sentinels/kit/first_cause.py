"""Which of many errors was the first: the one that the others are consequences of.

When one rank of a job fails, its peers report broken connections, often earlier in the log than the
launcher reports the rank. So errors of collectives are believed last: before them come the errors
of programs, the end of a rank as the kernel tells it, and the launcher's word about the rank that
it saw failing first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from .classes import COLLECTIVE
from .observations import LogEvent, ProcessEnded
from .view import View

SIGNALS = {
    1: ("process_killed", "lost its terminal (SIGHUP)"),
    2: ("interrupted", "was interrupted (SIGINT)"),
    4: ("segfault", "crashed (SIGILL)"),
    6: ("segfault", "aborted (SIGABRT)"),
    7: ("segfault", "crashed (SIGBUS)"),
    8: ("segfault", "crashed (SIGFPE)"),
    9: ("process_killed", "was killed (SIGKILL)"),
    10: ("process_killed", "was ended by SIGUSR1, for which it has no handler"),
    11: ("segfault", "crashed (SIGSEGV)"),
    12: ("process_killed", "was ended by SIGUSR2, for which it has no handler"),
    13: ("process_killed", "ended because its output pipe broke (SIGPIPE)"),
    14: ("process_killed", "was ended by its own alarm (SIGALRM)"),
    15: ("sigterm_received", "was ended from outside (SIGTERM)"),
    24: ("process_killed", "was ended by its limit of CPU time (SIGXCPU)"),
    25: ("process_killed", "was ended by the limit of its file sizes (SIGXFSZ)"),
}
"""Signal -> the class that it implies, and how the process ended, in words."""
_FALLOUT = frozenset({1, 2, 6, 15})
"""Signals that a rank may get because another one failed: launchers send SIGTERM or SIGINT, and
libraries of collectives abort."""
OVERCOME = 2
"""Steps after the end of a rank that show that its launcher has started it again."""
_RAISED = 1
"""Exit status of a Python program that ended with an exception, which is in the log then."""
_PID = re.compile(r"\(pid: (\d+)\)")
_BY_LAUNCHER = "failed (exitcode:"
"""torchrun names the rank that it saw failing first in this line; its table names all."""

KERNEL_S = 15.0
"""Seconds between the end of a process and the kernel's line about it, as for OOM kills."""


def root(events: Sequence[LogEvent]) -> LogEvent | None:
    """The earliest fatal root, of collectives only where there is no other; else the earliest root;
    else the earliest of all."""
    fatal = [e for e in events if e.role == "root" and e.fatal]
    for wanted in (
        [e for e in fatal if e.trouble not in COLLECTIVE and not _of_table(e)],
        [e for e in fatal if not _of_table(e)],
        fatal,
        [e for e in events if e.role == "root"],
        list(events),
    ):
        if wanted:
            return min(wanted, key=lambda e: (e.at, e.line))
    return None


def first_cause(view: View, events: Sequence[LogEvent], near_s: float) -> LogEvent | None:
    """The error that the others are consequences of, among ``events`` and the ends of ranks.

    ``near_s``: seconds around the error of a collective in which the end of a rank explains it.
    """
    cause = root(events)
    if cause is not None and cause.role == "root" and cause.trouble not in COLLECTIVE:
        if _BY_LAUNCHER not in cause.text:
            return cause
        named = (e for e in events if e.text == cause.text)
        return _in_words(next((e for e in named if e.rank is not None), cause))
    at = view.now if cause is None else cause.at
    near = (e for e in view.endings if abs(e.at - at) <= near_s)
    seen = _first_end(e for e in near if view.steps_after(e.at) < OVERCOME)
    said = next((e for e in events if _BY_LAUNCHER in e.text and _telling(e, events)), None)
    return seen or (_in_words(said) if said is not None else cause)


def in_its_place(view: View, event: LogEvent) -> LogEvent:
    """A module that is missing at the first evaluation is no failed start: the run has made steps.

    Returns ``event`` as an exception of the program then, else as it is.
    """
    if event.trouble != "launch_error" or "exception" not in event.details:
        return event
    began = any(at < event.at for at, _ in islice(view.step_times, 1)) or any(
        step.file == event.file and step.line < event.line for step in view.steps
    )
    return replace(event, trouble="python_exception") if began else event


def kernel_fault(view: View, near_s: float) -> LogEvent | None:
    """The kernel's line about the crash of a process of this run; its log has those of the box."""
    ended = {e.pid: e for e in view.endings}
    for event in reversed(view.events):
        pid = event.details.get("pid")
        if event.file == "kernel" and event.trouble == "segfault" and pid in ended:
            ending = ended[pid]
            if abs(event.at - ending.at) <= near_s and ending.exit_code != 0:
                library = event.details.get("library")
                where = f" in {library}" if library else ""
                text = f"process {pid} crashed{where}, says the kernel"
                return replace(event, text=text, rank=ending.rank, role="root", fatal=True)
    return None


def _of_table(event: LogEvent) -> bool:
    """True for a rank in a launcher's table of all failed ranks: most are consequences."""
    return event.text.lstrip().startswith("exitcode ")


def _telling(event: LogEvent, events: Sequence[LogEvent]) -> bool:
    """True when a launcher's line about a rank says more than the error of that rank."""
    code, rank = event.details.get("exitcode"), event.rank
    if not isinstance(code, int) or code == 0 or -code in _FALLOUT:
        return False
    own = any(e.role == "root" and e.rank is not None and e.rank == rank for e in events)
    named = any(e.role == "root" and e.rank is not None for e in events)
    return not own and (code != _RAISED or named)


def _first_end(endings: Iterable[ProcessEnded]) -> LogEvent | None:
    """The first bad end of a rank that is no consequence of another one."""
    for ending in sorted(endings, key=lambda e: e.at):
        if ending.main or ending.rank is None or ending.exit_code in (0, _RAISED):
            continue
        if ending.signal is not None and ending.signal not in _FALLOUT:
            trouble, how = SIGNALS.get(
                ending.signal, ("process_killed", f"was ended by signal {ending.signal}")
            )
        elif ending.exit_code is not None:
            trouble, how = "rank_failed", f"ended with exit status {ending.exit_code}"
        else:
            continue
        return _told(ending, trouble, how)
    return None


def _told(ending: ProcessEnded, trouble: str, how: str) -> LogEvent:
    return LogEvent(
        at=ending.at,
        trouble=trouble,
        role="root",
        severity="critical",
        fatal=True,
        text=f"process {ending.pid} {how}",
        rank=ending.rank,
        signature="rank-end",
        details={
            "pid": ending.pid,
            **({"exitcode": ending.exit_code} if ending.exit_code is not None else {}),
            **({"signal": ending.signal} if ending.signal is not None else {}),
        },
    )


def _in_words(event: LogEvent) -> LogEvent:
    """A launcher's line about a rank as a sentence of ours; any other event as it is."""
    code = event.details.get("exitcode")
    if _BY_LAUNCHER not in event.text or not isinstance(code, int):
        return event
    trouble, how = SIGNALS.get(-code, ("rank_failed", f"ended with exit status {code}"))
    pid = _PID.search(event.text)
    text = f"process {pid[1]} {how}" if pid else f"the process of a rank {how}"
    return replace(event, trouble=trouble, role="root", severity="critical", fatal=True, text=text)
