"""A checkpoint on disk is damaged, or a save was never finished.

Symptom: a file that was saved is cut off, contradicts itself or does not match its checksums,
    or a temporary file lies where a checkpoint was to be.
Confirm: `middlewatch verify PATH`; `ls -l --time-style=full-iso` beside the other saves.
Cause: a kill or a crash in the middle of a save, a full disk, a volume that lost writes, a file
    that was copied in part or changed by hand, bad memory.
Remedy:
    1. [safe] Keep the previous valid checkpoint: `middlewatch checkpoints` names the one to
       resume from.
    2. [safe] Look for errors of the disk, and at free space, at the time of that save.
    3. [costly] Ask the trainer for another save now, and verify it.
Not: do not resume from it, and do not let a rotation delete the previous one; torch.load reads
    flipped bits without a word.
Retry: resume from the previous valid one.
Classes: ckpt_corrupt ckpt_incomplete
Sources: structure and checksums are told by the verifier, which first waits until nobody has
    written for a while and no process holds a file open. The newest save wakes a person,
    because a restart would begin there; an older one is a warning. Something half-written is a
    note: the run itself has not counted on it yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import CheckpointSeen, Evidence, Finding, Sentinel, Severity, View
from .kit.damage import Damage
from .kit.numbers import number, size

WORDS = {"ckpt_corrupt": "is corrupt", "ckpt_incomplete": "is not whole"}


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.checkpoint_corrupt]`."""

    told: int = 8
    """Damaged saves that are told one by one, the newest first."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak about every save that is damaged now."""
    damage = view.ledger(Damage)
    if not view.live or damage is None or damage.quiet:
        return
    by_time = sorted(view.checkpoints, key=lambda c: (c.saved_at, c.path), reverse=True)
    newest = next((c for c in by_time if c.state != "pending"), None)
    good = next((c for c in by_time if c.state == "ok"), None)
    bad = [c for c in by_time if c.state in ("corrupt", "incomplete")]
    for seen in bad[: limits.told]:
        yield _damaged(seen, good, newest=seen is newest)
    left = sorted(damage.left.values(), key=lambda c: (c.saved_at, c.path), reverse=True)
    shown = {seen.path for seen in bad}
    for seen in left[: limits.told]:
        if seen.path not in shown:
            yield _left_over(seen)


def _damaged(seen: CheckpointSeen, good: CheckpointSeen | None, *, newest: bool) -> Finding:
    corrupt = seen.state == "corrupt"
    trouble = "ckpt_corrupt" if corrupt else "ckpt_incomplete"
    which = "the newest checkpoint" if newest else "an older checkpoint"
    step = "" if seen.step is None else f" (step {number(seen.step)})"
    if good is None:
        remedy = "there is no valid checkpoint on disk: have the trainer save now, and verify it"
        resume = "no valid one is left"
    else:
        remedy = f"resume from the previous valid one, {good.path}, and keep it from deletion"
        resume = f"valid is {_name(good.path)}"
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
        summary=f"{which}, {_name(seen.path)}{step}, {WORDS[trouble]}{why[:120]}; {resume}",
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
        summary=f"a save was never finished: {_name(seen.path)} ({size(seen.bytes)}) was left behind",
        evidence=(Evidence("checkpoint", f"{seen.path}: {seen.detail}", seen.saved_at),),
        remedy="count on the previous valid checkpoint; delete this one when no save is running",
        details={"path": seen.path, "bytes": seen.bytes},
    )


def _name(path: str) -> str:
    return "/".join(path.rstrip("/").rsplit("/", 2)[-2:]) or path


SENTINEL = Sentinel(
    check, Limits(), on=(CheckpointSeen,), every_tick=True, clears_after_s=30.0, ledgers=(Damage,)
)
