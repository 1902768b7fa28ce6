"""After a restart the run has lost what it had learned.

Decides: After a restart the loss is far above its level at the step of the resume. Or, if the step
    numbers did not go back, it jumps to its first values and falls again as at the start. The part
    of the progress that is lost decides whether the weights or the optimizer state are missing. In
    a finished log, a reset after which the loss soon caught up is a note. Weights whose names all have
    another prefix than those of the model were not loaded, and the program has said so. A restart that goes on
    from a save, though a later one of the run is verified, is a warning, whatever the loss does. The same
    command that was killed or failed, and begins from nothing though a save of it is whole, is critical.
Classes: loss_reset
Sources: Eight reports after a restart whose median is four spreads above the level at the resumed
    step; measured on 1,033 real curves, in which all 17 such events were found. Two spreads are
    enough if 60 % of the progress is lost, because noise can be that large. If the step numbers did
    not go back, more is needed: 60 % of the progress lost, and eight reports that differ from the
    first eight by at most a quarter of the range of those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from .kit import CheckpointSeen, Evidence, Finding, LogEvent, Sentinel, Severity, Step, View
from .kit.loss.losses import Losses
from .kit.loss.series import Reset
from .kit.numbers import median, number, short_path
from .kit.recovery import OpenIncident

NEAR_REPORTS = 2.0
"""Reports after a save within which a resume from it is seen first: its own step may not be reported."""
ENOUGH_MARKS = 3
"""Reports needed to know the steps between two of them."""
OTHER_NAMES = "ckpt-other-names"
"""Signature of the line of ``load_state_dict(strict=False)``."""
MOST_MARKS = 500
"""Reports up to which the first one that is kept is the first one of the run (512 are kept)."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_reset]`."""

    weights_ratio: float = 0.5
    """If at least this part of the progress is lost, the weights are said to be missing; if less,
    the optimizer state."""
    caught_up_reports: int = 30
    """If the loss is back within this many reports, it is a note in a finished log; a longer
    recovery costs training time twice."""
    accepted_reports: int = 1000
    """Reports after which a reset of a live run is not reported any more."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about resets: in a live run while they last, in a finished log about all."""
    restarts = _restarts(view)
    yield from (
        _behind(view, restarts) or _same_place(view, restarts) or _from_scratch(view, restarts)
    )
    if view.live and view.ending is None:
        yield from _not_loaded(view)
    losses = view.accumulator(Losses)
    if losses is None:
        return
    for place, reset in enumerate(losses.resets, 1):
        if view.live and (reset.back is not None or reset.reports > limits.accepted_reports):
            continue
        yield _finding(reset, place, limits)


def _behind(view: View, restarts: list[_Restart]) -> list[Finding]:
    """A finding if a wrapper has started the program again, and it went on from an older save."""
    restart = restarts[-1] if restarts else _new_attempt(view)
    if restart is None:
        return []
    good = [c for c in view.checkpoints if c.step and c.state == "ok" and c.saved_at < restart.at]
    near = [c for c in good if 0 <= restart.step - (c.step or 0) <= NEAR_REPORTS * restart.every]
    newest = max(good, key=lambda c: c.step or 0, default=None)
    if not near or newest is None or newest.step is None:
        return []
    took = max(near, key=lambda c: c.step or 0)
    if _series(newest) != _series(took):
        return []  # of another experiment, in the turns of a queue
    if newest.step <= restart.step + restart.every or newest.saved_at <= took.saved_at:
        return []
    if view.step_times[-1][1] > newest.step:
        return []  # it has caught up
    summary = (
        f"the restart went back to step {number(took.step or 0)}, though step "
        f"{number(newest.step)} is saved and whole: {short_path(newest.path)}"
    )
    remedy = (
        f"read how the program chooses what it resumes from: names in the order of the text "
        f"put step_75 behind step_150; it should be {newest.path}"
    )
    return [_passed_over(newest, restart, took.step, Severity.WARNING, summary, remedy)]


def _passed_over(
    newest: CheckpointSeen,
    restart: _Restart,
    resumed_at: float | None,
    severity: Severity,
    summary: str,
    remedy: str,
) -> Finding:
    """The finding about a restart that did not go on from the newest save that is whole."""
    return Finding(
        trouble="loss_reset",
        key="behind",
        severity=severity,
        summary=summary,
        evidence=(
            Evidence("log", f"first step after the restart: {number(restart.step)}", restart.at),
            Evidence(
                "checkpoint", f"{newest.path} (step {number(newest.step or 0)})", newest.saved_at
            ),
        ),
        remedy=remedy,
        details={"step": restart.step, "resumed_at": resumed_at, "newest": newest.step},
        since=restart.at,
    )


def _series(save: CheckpointSeen) -> str:
    """The path of a save without its step: what the saves of one experiment have in common."""
    blank, found = re.subn(rf"(?<!\d)0*{int(save.step or 0)}(?!\d)", "#", save.path)
    return blank if found else re.sub(r"\d+", "#", save.path)


def _same_place(view: View, restarts: list[_Restart]) -> list[Finding]:
    """A finding if the newest two restarts begin at the same step, although the run came further and
    saved between them: by the times of the saves, whose steps need not be known."""
    if len(restarts) < 2:
        return []
    one, other = restarts[-2:]
    close = abs(one.step - other.step) <= other.every
    if not close or other.step <= NEAR_REPORTS * other.every:
        return []  # what begins from its beginning is another job, or has no save
    further = [at for at, step in view.step_times if step > other.step + NEAR_REPORTS * other.every]
    top = max((step for at, step in view.step_times if at < other.at), default=0.0)
    since = next((at for at in further if one.at <= at < other.at), None)
    if since is None or view.step_times[-1][1] > top:
        return []
    on_disk = [c.path for c in view.checkpoints if since <= c.saved_at < other.at]
    told = [c.path or "the log says so" for c in view.claimed_saves if since <= c.at < other.at]
    saved = (on_disk or told)[-1:]
    if not saved:
        return []
    finding = Finding(
        trouble="loss_reset",
        key="behind",
        severity=Severity.WARNING,
        summary=f"two restarts went on from the same step {number(other.step)}, though the run made "
        f"step {number(top)} and saved between them: nothing is gained any more",
        evidence=(
            Evidence("log", f"first step after both restarts: {number(other.step)}", other.at),
            Evidence("checkpoint", f"saved between them: {saved[0]}"),
        ),
        remedy="read how the program chooses what it resumes from, and whether newer saves are "
        "deleted or get older numbers: `middlewatch checkpoints`",
        details={"step": other.step, "resumed_at": other.step, "newest": top},
        since=other.at,
    )
    return [finding]


def _from_scratch(view: View, restarts: list[_Restart]) -> list[Finding]:
    """A finding if the same command, which had failed or was killed, begins from nothing, although it has saved.
    Another command in the turns of a queue begins there by right."""
    restart = restarts[-1] if restarts else _new_attempt(view)
    if restart is None:
        return []
    until = _failed_before(view, restart) if restarts else view.run.started_at
    if until is None or not (restarts or view.run.after_failure):
        return []
    good = [c for c in view.checkpoints if c.step and c.state == "ok" and c.saved_at < until]
    newest = max(good, key=lambda c: c.step or 0, default=None)
    if newest is None or newest.step is None:
        return []
    first = NEAR_REPORTS * restart.every
    if not restarts:
        # Its first lines may have been read for the attempt before. It can have loaded no later step.
        first = max(first, min(c.step or 0 for c in good) - restart.every)
    if restart.step > first:
        return []
    reached = view.step_times[-1][1]
    if newest.step <= restart.step + NEAR_REPORTS * restart.every or reached > newest.step:
        return []
    summary = (
        f"started again from scratch: the restart began at step {number(restart.step)} without a resume, "
        f"though step {number(newest.step)} is saved and whole: {short_path(newest.path)}"
    )
    remedy = f"read where the program looks for what it resumes from; it should be {newest.path}"
    return [_passed_over(newest, restart, 0.0, Severity.CRITICAL, summary, remedy)]


def _failed_before(view: View, restart: _Restart) -> float | None:
    """When the program that runs now had failed or was killed before this restart; epoch seconds."""
    if not view.process_samples:
        return None
    failed = [e for e in view.endings if e.at <= restart.at and (e.signal or e.exit_code)]
    ended = next((e for e in reversed(failed) if e.program is not None), None)
    lives = {p.program for p in view.process_samples[-1].processes}
    return ended.at if ended is not None and ended.program in lives else None


def _not_loaded(view: View) -> Iterator[Finding]:
    """A finding if the program says that it loaded weights under other names than the model has."""
    said = next((e for e in view.events if e.signature == OTHER_NAMES), None)
    if said is None or not view.went_on_after(said):
        return
    yield Finding(
        trouble="ckpt_mismatch",
        key="names",
        severity=Severity.WARNING,
        summary="the weights were not loaded: all names in the checkpoint have another prefix than those "
        "of the model, and the training goes on with what it has",
        evidence=(Evidence("log", said.text, said.at),),
        file=said.file,
        line=said.line,
        remedy="take the prefix (`module.`, `model.`, `_orig_mod.`) off the names before load_state_dict, "
        "and load with strict=True",
        since=said.at,
    )


class _Restart(NamedTuple):
    at: float
    """Epoch seconds of the first report after it."""
    step: float
    every: float
    """Steps between two reports."""


def _new_attempt(view: View) -> _Restart | None:
    """The first report of a run that is another attempt of an earlier one, if it is still known."""
    if not view.live or view.run.attempt == 1 or view.ending is not None:
        return None  # the usual case, in every step
    marks = list(view.step_times)
    if not ENOUGH_MARKS <= len(marks) <= MOST_MARKS:
        return None
    if any(new < old for (_, old), (_, new) in pairwise(marks)):
        return None  # a trainer that rolls back does so by design
    every = _every(marks)
    return _Restart(*marks[0], every) if every else None


def _restarts(view: View) -> list[_Restart]:
    """Every restart within the run: the counter went back, and a process ended meanwhile."""
    if not view.live or not view.endings or view.ending is not None:
        return []  # the usual case, in every step
    marks = list(view.step_times)
    if len(marks) < ENOUGH_MARKS:
        return []
    found: list[_Restart] = []
    for i, (before, after) in enumerate(pairwise(marks), 1):
        if after[1] >= before[1]:
            continue
        if any(before[0] <= end.at <= after[0] for end in view.endings):
            every = _every(marks[i:])
            if every:
                found.append(_Restart(*after, every))
    return found


def _every(marks: list[tuple[float, float]]) -> float:
    """Usual steps between two reports; 0 when not known."""
    steps = [new - old for (_, old), (_, new) in pairwise(marks) if new > old]
    return median(steps) if steps else 0.0


def _finding(reset: Reset, place: int, limits: Limits) -> Finding:
    weights = reset.lost >= limits.weights_ratio
    what = "weights" if weights else "optimizer"
    name = "the loss" if reset.metric == "train_loss" else reset.metric
    moved = f"{name} went from {number(reset.base)} back to {number(reset.level)}"
    if reset.resumed_at is None:
        why = f"{moved} and falls again as at the start"
    else:
        missing = "weights" if weights else "optimizer state"
        why = f"resumed at step {number(reset.resumed_at)} without {missing}: {moved}"
    if reset.back is not None:
        since = "" if reset.back.step is None else f" by step {number(reset.back.step)}"
        why += f"; it caught up{since}"
    harmless = reset.back is not None and reset.reports <= limits.caught_up_reports
    return Finding(
        trouble="loss_reset",
        key=f"{reset.metric}:{place}",
        severity=Severity.INFO if harmless else Severity.CRITICAL,
        summary=why,
        file=reset.file,
        line=reset.onset.line,
        decided_line=reset.decided.line,
        details={
            "step": reset.onset.step,
            "resumed_at": reset.resumed_at,
            "from": reset.base,
            "to": reset.level,
            "lost_ratio": round(reset.lost, 3),
            "missing": what,
        },
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the loss has caught up."""
    if case.key == "behind":
        newest = case.details.get("newest")
        marks = view.step_times
        if not marks or not isinstance(newest, (int, float)) or marks[-1][1] <= newest:
            return ""
        return f"it is beyond that save: step {number(marks[-1][1])} now"
    losses = view.accumulator(Losses)
    if losses is None:
        return ""
    for place, reset in enumerate(losses.resets, 1):
        if case.key == f"{reset.metric}:{place}" and reset.back is not None:
            by = "" if reset.back.step is None else f" by step {number(reset.back.step)}"
            return f"the loss has caught up{by}: {number(reset.back.value)}"
    return ""


SENTINEL = Sentinel(
    check, Limits(), on=(Step, CheckpointSeen, LogEvent), also_reads=(Losses,), recovered=recovered
)
