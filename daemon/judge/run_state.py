"""The state of a run, in one word with its reason."""

from __future__ import annotations

from middlewatch.sentinels.kit import ProcessEnded, Severity, View
from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.ends import end_of
from middlewatch.sentinels.kit.pace.silence import last_sign
from middlewatch.sentinels.kit.progress import completed

from ..config.run_spec import RunState
from .incidents import Incident

_READ = ("finite", "load")
"""Levels of a check that reads a whole save."""


def judge_state(view: View, incidents: list[Incident], now: float) -> tuple[RunState, str]:
    """(state, reason) of a run, by its newest observations and open incidents.

    ``incidents``: the open ones of this run. Old log lines never decide.
    """
    # A rule of the person about the state must not be what keeps the run in it.
    incidents = [i for i in incidents if i.trouble != "own_rule" or not i.details.get("state")]
    critical = [i for i in incidents if i.severity is Severity.CRITICAL and not _made_good(view, i)]
    ending = view.ending
    if ending is not None:
        if ending.exit_code == 0 and not any(i.fatal for i in critical):
            return "finished", "exit status 0" + (", last step reached" if completed(view) else "")
        if (
            ending.exit_code is None
            and ending.signal is None
            and not any(i.fatal for i in critical)
        ):
            end = end_of(view, ending)
            if end.well:
                return "finished", f"the process is gone, and {end.why}"
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
    slows = [i for i in incidents if i.severity is Severity.WARNING and row(i.trouble).standstill]
    if slows:
        return "running", f"alive, but {slows[0].summary}"
    shown, what = last_sign(view)
    if shown is None:
        return "running", "alive, no step seen yet"
    what = "last step" if what.startswith("step") else what.removeprefix("the ")
    return "running", f"alive, {what} {now - shown:.0f} s ago"


def _made_good(view: View, incident: Incident) -> bool:
    """True for an incident about a bad save when the newest save that was read whole is good.

    The incident stays open while the bad files are there, but the run no longer counts as failing
    because of it.
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
