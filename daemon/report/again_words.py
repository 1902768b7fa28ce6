"""What is told of a run that is started again by itself: one push for each new attempt, one when it is
left. How it goes on is told by the push that resolves the trouble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from middlewatch.sentinels.kit import HandbookPage, codec
from middlewatch.sentinels.kit.numbers import number

from ..judge.incident import Incident
from ..system.clock import iso
from ..text.moments import ahead
from .messages import Message, first_line, fitted, reached, short
from .titles import titled

State = Literal["waiting", "ordered", "started", "left"]


@dataclass(slots=True)
class Restart:
    """What was decided about a run that has ended, kept in the store. Times are epoch seconds."""

    run: str
    state: State
    """``waiting`` for ``at``; ``ordered``: its supervisor was told; ``started``: the new attempt is under
    watch; ``left``: it is not started again."""
    why: str
    decided_at: float
    at: float = 0.0
    """When it is started again."""
    number: int = 0
    """Which attempt that is, counted from 1; ``most``: how many there may be. With ``phase`` these count
    phases."""
    phase: str = ""
    """Name of the phase that begins then; empty: it is the same command again."""
    most: int = 0
    next_run: str = ""
    """Id of the new attempt."""
    cause: str = ""
    step: float | None = None
    """The furthest step of the attempt that has ended."""
    talk: str = ""
    """Id of the incident that the pushes of all these attempts are about."""
    ordered_at: float = 0.0
    losses: dict[str, Any] = field(default_factory=dict)
    """What was known of the loss at its end: the loss of the new attempt is compared with it."""

    def to_json(self) -> dict[str, Any]:
        """A plain dict for the store."""
        data: dict[str, Any] = codec.dump(self)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Restart:
        """Load what :meth:`to_json` gave. Raises ValueError."""
        return codec.load(cls, data)

    def shown(self) -> dict[str, Any]:
        """The part ``decision`` of ``again`` in ``status --json``."""
        return {
            "state": self.state,
            "why": self.why,
            "at": iso(self.at) if self.state != "left" else None,
            "next_run": self.next_run or None,
            "phase": self.phase or None,
        }

    @property
    def attempt(self) -> str:
        """``attempt 2 of 4``, ``phase 2 of 3 (cooldown)``."""
        if self.phase:
            return f"phase {self.number} of {self.most} ({self.phase})"
        return f"attempt {self.number} of {self.most}"


def resuming(
    one: Restart,
    name: str,
    host: str,
    status: Mapping[str, Any],
    cause: Incident | None,
    now: float,
) -> Message:
    """The push that the next attempt is about to begin. ``status``: of the run that has ended, ``cause``:
    why it did."""
    resume = status["checkpoints"]["resume_from"]
    lines = [
        f"{one.attempt.capitalize()} begins {ahead(one.at, now)}, {short(one.why, 200)}.",
        *([f"Its end: {short(cause.summary, 200)}"] if cause else []),
        f"It goes on from the newest good checkpoint: {short(resume or 'none is known yet', 400)}",
        f"To call it off: middlewatch resume {one.run} --again 0",
        f"Incident {one.talk}: middlewatch explain {one.talk}",
    ]
    title = titled("RESUMING", short(name, 60), short(host, 60), one.attempt)
    key = f"{one.run} again"
    return Message(title, fitted(lines), "info", one.talk, one.cause, key=key)


def begins(
    one: Restart, name: str, host: str, status: dict[str, Any], save: str, folder: str
) -> Message:
    """The push that a phase is done and the next one begins. ``status``: of the run that was the phase;
    ``save``: the milestone that it ended with; ``folder``: where its report will lie."""
    lines = [
        f"Done: {short(one.why, 400)}.",
        f"{one.attempt.capitalize()} begins from {short(save, 300)}, which is kept as a milestone.",
        f"Report of the phase that is done: {short(folder, 200)}/report.md",
        *reached(status)[:1],
        f"To call it off: middlewatch end {short(name, 60)}",
    ]
    what = f"phase {one.phase} begins"
    title = titled("PHASE", short(name, 60), short(host, 60), what)
    return Message(title, fitted(lines), "info", key=f"{one.run} phase")


def left(
    one: Restart,
    name: str,
    host: str,
    status: dict[str, Any],
    cause: Incident | None,
    entry: HandbookPage | None,
    said: Sequence[str],
) -> Message:
    """The push that the run is not started again, or that its next phase is not begun. ``cause``: why the
    last attempt ended; ``said``: what does not happen, and a line for each attempt."""
    what, *attempts = said
    lines = [f"{what.capitalize()}: {short(one.why, 300)}."]
    if cause is not None:
        lines.append(f"Its end: {short(cause.summary, 200)}")
        lines += [f"Proof: {short(e.text, 200)}" for e in cause.evidence[:1]]
    if len(attempts) > 1:
        lines += [short(text, 120) for text in attempts[-4:]]
    lines += reached(status)
    if cause is None:
        lines += ["First step: middlewatch resume " + one.run, "No incident is open"]
    else:
        lines += [first_line(cause, entry)]
        lines.append(f"Incident {one.talk or cause.id}: middlewatch explain {cause.id}")
    title = titled("FAILED", short(name, 60), short(host, 60), f"{what}: {one.why}")
    return Message(
        short(title, 200),
        fitted(lines),
        "failure",
        one.talk or (cause.id if cause else ""),
        one.cause or "failed",
        key=f"{one.run} left",
    )


def line(number_: int, run: str, cause: str, step: float | None) -> str:
    """``attempt 1 (gpt-1f3a): preempted at step 400``."""
    at = "" if step is None else f" at step {number(step)}"
    return f"attempt {number_} ({run}): {cause or 'cause not known'}{at}"
