"""What a push says about the last good checkpoint, and about a save that has no verdict yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from middlewatch.sentinels.kit import CheckpointSaved, CheckpointSeen
from middlewatch.sentinels.kit.numbers import number, span

from ..judge.incidents import Incident

_NEAR_S = 30.0
"""Seconds by which a save may be older than the log line about it: the line comes after the last
byte, and the log may be read late. Our choice."""
_FRESH_S = 120.0
"""Seconds for which a save that the log claims is called not looked at yet; longer ago it was not
found. The last look after a claim comes 25 s later, and a large save takes its time."""


class LastSave(NamedTuple):
    """One line for a person, and the save whose verdict it leaves open."""

    text: str
    awaited: str | None = None
    """Path of the pending checkpoint that the line names; ``None`` without one."""


def last_good(
    checkpoints: Sequence[CheckpointSeen],
    claims: Iterable[CheckpointSaved],
    incident: Incident,
    now: float,
) -> LastSave:
    """The last good checkpoint from before the trouble, and a newer one that is being checked.

    For a bad save the good one is the one that the finding names (``details``: ``valid``,
    ``finite``).
    """
    before = [c for c in checkpoints if c.saved_at <= incident.onset]
    step = incident.details.get("step")
    good = [c for c in before if c.state == "ok"]
    named = [c for c in good if c.path in map(incident.details.get, ("valid", "finite"))]
    pending = [c for c in before if c.state == "pending"]
    if named:
        good = named
    elif isinstance(step, (int, float)):
        good, pending = _earlier(good, step), _earlier(pending, step)
    best = max(good, key=lambda c: c.saved_at, default=None)
    pending = [c for c in pending if best is None or c.saved_at > best.saved_at]
    newest = max(pending, key=lambda c: c.saved_at, default=None)
    if best is not None:
        text = f"Last good checkpoint: {_name(best)}, {best.level} checked"
        if newest is not None:
            text += f"; a newer one is being checked: {_name(newest)}"
        return LastSave(text, newest.path if newest else None)
    if newest is not None:
        return LastSave(
            f"Newest checkpoint: {_name(newest)}, saved {span(max(0.0, now - newest.saved_at))} ago"
            " and still being checked: if it is not good, a push says so",
            newest.path,
        )
    claim = unseen_claim(checkpoints, claims)
    if claim is not None and claim.at <= incident.onset and not before:
        said = _claimed(claim, now)
        if now - claim.at < _FRESH_S:
            return LastSave(f"{said}; it has not been looked at yet")
        return LastSave(f"{said}, but its folder was not found (watch --checkpoints DIR)")
    return LastSave("No good checkpoint is known from before the trouble.")


def newest_text(pending: Sequence[dict[str, object]], resume_from: str | None) -> str:
    """The newest good checkpoint for the push about the end of a run, by ``status --json``."""
    if pending and resume_from is None:
        return f"{pending[-1]['path']}, still being checked"
    text = resume_from or "none found"
    return f"{text}; still being checked: {pending[-1]['path']}" if pending else text


def unseen_claim(
    known: Sequence[CheckpointSeen], claims: Iterable[CheckpointSaved]
) -> CheckpointSaved | None:
    """The newest save that the log claims, if no known checkpoint can be it."""
    claim = max(claims, key=lambda c: c.at, default=None)
    if claim is None or any(_may_be(claim, seen) for seen in known):
        return None
    return claim


def _may_be(claim: CheckpointSaved, seen: CheckpointSeen) -> bool:
    if claim.path is not None and claim.path.rstrip("/").rpartition("/")[2] in seen.path.split("/"):
        return True
    if claim.step is not None and claim.step == seen.step:
        return True
    return seen.saved_at >= claim.at - _NEAR_S


def _claimed(claim: CheckpointSaved, now: float) -> str:
    step = "" if claim.step is None else f" of step {number(claim.step)}"
    path = "" if claim.path is None else f" ({claim.path[:200]})"
    return f"The log says a checkpoint{step} was saved {span(max(0.0, now - claim.at))} ago{path}"


def _earlier(checkpoints: Iterable[CheckpointSeen], step: float) -> list[CheckpointSeen]:
    return [c for c in checkpoints if c.step is None or c.step < step]


def _name(seen: CheckpointSeen) -> str:
    at = "" if seen.step is None else f" (step {number(seen.step)})"
    path = seen.path if len(seen.path) <= 200 else seen.path[:199] + "…"
    return f"{path}{at}"
