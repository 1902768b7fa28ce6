"""A checkpoint cannot be read, is damaged, or was never finished.

Decides: The verifier found a damaged checkpoint on disk; it first waits until nobody writes and no
    process holds a file open. The newest checkpoint is critical, because a restart would begin
    there (weights of the best model alone, or an adapter, saved after it do not replace it); an
    older one is a warning, an unfinished one a note. Files that are whole but hold NaN are left to
    checkpoint_nonfinite. One without a step that was there before the run began, which trains without it, is a
    note. Lines of the log that say that a checkpoint could not be read are a warning if the run makes no step after them and does not end, and critical if the run failed
    after such an error.
Classes: ckpt_corrupt ckpt_incomplete
Sources: Our choice: two minutes without a step after such a line, because a program that uses an
    earlier checkpoint instead needs that long to load it. torch.load reads flipped bits without an
    error, so a log without errors proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .kit import CheckpointSeen, Evidence, Finding, LogEvent, ProcessEnded, Sentinel, Severity, View
from .kit.again import tolerated
from .kit.caught import caught
from .kit.numbers import number, short_path, size
from .kit.progress import completed
from .kit.recovery import OpenIncident, gone_or_good, went_on
from .kit.saves.damage import Damage, is_nonfinite
from .kit.saves.siblings import is_newest, last_good
from .kit.trials import trials_of
from .kit.troubles import Troubles, describe_event, said_in_old_log

WORDS = {"ckpt_corrupt": "is corrupt", "ckpt_incomplete": "is not whole"}


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.checkpoint_corrupt]`."""

    told: int = 8
    """Damaged saves that are reported one by one, the newest first."""
    wait_s: float = 120.0
    """Time for a program that could not read a checkpoint to continue without it."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about every save that is damaged now, and about reads that failed."""
    yield from said_in_old_log(view, ("ckpt_corrupt",))
    if not view.live:
        return
    yield from _unread(view, limits)
    damage = view.accumulator(Damage)
    if damage is not None and not damage.quiet:
        yield from _on_disk(view, limits, damage)


def _unread(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding if a line says that a checkpoint cannot be read, and no step follows it."""
    said = (e for e in reversed(view.events) if e.trouble == "ckpt_corrupt")
    event = next((e for e in said if e.severity != "info"), None)
    if event is None or view.went_on_after(event):
        return
    ending, failed = view.ending, False
    if trials_of(view) and (ending is None or ending.exit_code == 0):
        return  # a search ends the trial that could not read something, and begins the next one
    if ending is not None:
        if ending.exit_code == 0 and (completed(view) or tolerated(view, event)):
            return
        if caught(view, ending, event):
            return
        failed = event.fatal or "exception" in event.details
    elif view.now - event.at < limits.wait_s:
        return
    yield Finding(
        trouble="ckpt_corrupt",
        key="read",
        severity=Severity.CRITICAL if failed else Severity.WARNING,
        fatal=failed,
        summary=f"a checkpoint cannot be read: {describe_event(event)}",
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        details={**event.details, "rank": event.rank},
    )


def _on_disk(view: View, limits: Limits, damage: Damage) -> Iterator[Finding]:
    """Findings about every save that is damaged now, or was left unfinished."""
    by_time = sorted(view.checkpoints, key=lambda c: (c.saved_at, c.path), reverse=True)
    damaged = (c for c in by_time if c.state in ("corrupt", "incomplete"))
    bad = [c for c in damaged if not is_nonfinite(c)]
    for seen in bad[: limits.told]:
        found = _damaged(seen, last_good(seen, by_time), newest=is_newest(seen, by_time))
        yield replace(found, severity=Severity.INFO) if _passed_by(view, seen) else found
    left = sorted(damage.left.values(), key=lambda c: (c.saved_at, c.path), reverse=True)
    shown = {seen.path for seen in bad}
    for seen in left[: limits.told]:
        if seen.path not in shown:
            yield _left_over(seen)


def _passed_by(view: View, seen: CheckpointSeen) -> bool:
    """Whether a file lay there before the run began, which trains without it, and says no step: something of
    another program, or of last week."""
    before = seen.saved_at < view.run.started_at
    return before and seen.step is None and bool(view.step_times)


def _damaged(seen: CheckpointSeen, good: CheckpointSeen | None, *, newest: bool) -> Finding:
    corrupt = seen.state == "corrupt"
    trouble = "ckpt_corrupt" if corrupt else "ckpt_incomplete"
    which = "the newest checkpoint" if newest else "an older checkpoint"
    step = "" if seen.step is None else f" (step {number(seen.step)})"
    if good is None:
        remedy = "no valid checkpoint is on disk: keep the run going until one is there"
        resume = "no valid one is left"
    else:
        remedy = f"keep the previous valid one from deletion: {good.path}"
        resume = f"valid is {short_path(good.path)}"
    severity = Severity.WARNING
    if not corrupt:
        severity = Severity.INFO
    elif newest:
        severity = Severity.CRITICAL
    why = f": {seen.detail}" if seen.detail else ""
    return Finding(
        trouble=trouble,
        key=seen.path,
        severity=severity,
        summary=f"{which}, {short_path(seen.path)}{step}, {WORDS[trouble]}{why[:120]}; {resume}",
        evidence=(
            Evidence("checkpoint", f"{seen.path}: {seen.detail or seen.state}", seen.saved_at),
            *((Evidence("checkpoint", f"valid: {good.path}", good.saved_at),) if good else ()),
        ),
        remedy=remedy,
        details={
            "path": seen.path,
            "level": seen.level,
            "step": seen.step,
            "newest": newest,
            "valid": good.path if good else None,
        },
    )


def _left_over(seen: CheckpointSeen) -> Finding:
    return Finding(
        trouble="ckpt_incomplete",
        key=seen.path,
        severity=Severity.INFO,
        summary=f"a save was never finished: {short_path(seen.path)} ({size(seen.bytes)}) was left behind",
        evidence=(Evidence("checkpoint", f"{seen.path}: {seen.detail}", seen.saved_at),),
        remedy="plan to resume from the previous valid checkpoint, not from this one",
        details={"path": seen.path, "bytes": seen.bytes},
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the save is good or gone, or, for one that could not be read, training went on."""
    if case.key == "read":
        return went_on(view, case)
    return gone_or_good(view, case.key)


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(CheckpointSeen, LogEvent, ProcessEnded),
    every_tick=True,
    clears_after_s=30.0,
    accumulators=(Damage, Troubles),
    recovered=recovered,
)
