"""The state of a run, in one word with its reason."""

from __future__ import annotations

from middlewatch.sentinels.kit import ProcessEnded, Severity, View
from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.progress import completed

from ..config.run_spec import RunState
from .incidents import Incident

_READ = ("finite", "load")
"""Levels at which all of a save was read."""


def judge_state(view: View, incidents: list[Incident], now: float) -> tuple[RunState, str]:
    """(state, why) of a run, from what is true now; old log lines never decide."""
    critical = [i for i in incidents if i.severity is Severity.CRITICAL and not _made_good(view, i)]
    ending = view.ending
    if ending is not None:
        if ending.exit_code == 0 and not any(i.fatal for i in critical):
            return "finished", "exit status 0" + (", last step reached" if completed(view) else "")
        if ending.exit_code is None and ending.signal is None and completed(view):
            return "finished", "the process is gone and its last step was reached"
        why = critical[0].summary if critical else _ended(ending)
        return "failed", why
    stalls = [i for i in critical if row(i.trouble).standstill]
    if stalls:
        return "stalled", stalls[0].summary
    if critical:
        return "failing", critical[0].summary
    if view.run.pid is None:
        grown = view.grown_at
        if grown is None or now - grown > 600:
            return "unknown", "no process is known and its log does not grow"
        return "running", "its log grows"
    if not view.process_samples:
        return "unknown", "its processes have not been seen yet"
    steps = view.step_times
    if not steps:
        return "running", "alive, no step seen yet"
    return "running", f"alive, last step {now - steps[-1][0]:.0f} s ago"


def _made_good(view: View, incident: Incident) -> bool:
    """A save was bad, and the newest one that was read to its end is good.

    The file that is still there keeps the incident open, as a trouble of that file; the run does
    not fail by it any more.
    """
    if not incident.details.get("newest"):
        return False
    read = [
        c
        for c in view.checkpoints
        if c.state in ("corrupt", "incomplete") or (c.state == "ok" and c.level in _READ)
    ]
    newest = max(read, key=lambda c: (c.saved_at, c.path), default=None)
    return newest is not None and newest.state == "ok" and newest.path != incident.details["path"]


def _ended(ending: ProcessEnded) -> str:
    if ending.signal is not None:
        return f"ended by signal {ending.signal}"
    if ending.exit_code is not None:
        return f"exit status {ending.exit_code}"
    return "the process is gone"
