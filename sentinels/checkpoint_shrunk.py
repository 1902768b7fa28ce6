"""A checkpoint lacks a part that the checkpoints before it have.

Decides: The files of a checkpoint are whole, but it has fewer files of one kind, a group of tensors
    less, or far fewer bytes (if its step is known, or it is written in place) than at least two earlier checkpoints of this run, which agree with
    each other. Only checkpoints with the same name (apart from numbers) and format are compared:
    the best model, an adapter or an export is another kind. No finding if smaller and larger saves
    alternate under one name, because this run saves so, or if fewer ranks than before leave fewer
    files.
Classes: ckpt_shrunk
Sources: Our choice: two earlier checkpoints, because a single one could itself be the exception; a
    tenth less, and twice the difference between the earlier ones, because saves of one program
    differ by some bytes, and what is left out (optimizer state, a rank, half of every number) is
    far more. A folder has 90 s to be finished, as in the checkpoint source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import CheckpointSeen, Evidence, Finding, Sentinel, Severity, View
from .kit.numbers import number, short_path, size
from .kit.recovery import OpenIncident, gone_or_good
from .kit.saves.siblings import Shrunk, Siblings


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.checkpoint_shrunk]`."""

    told: int = 4
    """Saves that are reported one by one, the newest first."""
    still_s: float = 90.0
    """Time in which the missing files of a folder may still be written."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about saves on disk that contain less than the ones before them."""
    siblings = view.accumulator(Siblings)
    if not view.live or siblings is None or siblings.quiet:
        return
    here = {(c.path, c.saved_at): c for c in view.checkpoints}
    found = []
    for one in siblings.shrunk(view.run.started_at):
        seen = here.get((one.made.path, one.made.saved_at))
        if seen is None or seen.state not in ("ok", "unverifiable"):
            continue
        if not one.missing and _of_its_own(seen, one):
            continue
        if one.made.files > 1 and view.now - seen.saved_at < limits.still_s:
            continue
        found.append((seen, one))
    found.sort(key=lambda each: (each[0].saved_at, each[0].path), reverse=True)
    for seen, one in found[: limits.told]:
        yield _less(seen, one)


def _of_its_own(seen: CheckpointSeen, one: Shrunk) -> bool:
    """True for a file whose number is no step that is known (``model_q90.pkl``), beside others of other numbers: a
    program writes one for each fold, seed or quantile, and its size says nothing about theirs."""
    return seen.step is None and all(other.path != seen.path for other in one.siblings)


def _less(seen: CheckpointSeen, one: Shrunk) -> Finding:
    usual = one.siblings[-1]
    lacks = [_part(*missing) for missing in one.missing[:3]]
    if len(one.missing) > 3:
        lacks.append(f"{len(one.missing) - 3} more")
    if one.smaller or not lacks:
        lacks.append(f"{size(seen.bytes)} instead of {size(usual.bytes)}")
    step = "" if seen.step is None else f" (step {number(seen.step)})"
    return Finding(
        trouble="ckpt_shrunk",
        key=seen.path,
        severity=Severity.WARNING,
        summary=f"{short_path(seen.path)}{step} has less than the {len(one.siblings)} saves before it:"
        f" {', '.join(lacks)}",
        evidence=(
            Evidence(
                "checkpoint",
                f"{seen.path}: {seen.files} files, {seen.bytes} bytes",
                seen.saved_at,
            ),
            Evidence(
                "checkpoint",
                f"{usual.path}: {usual.files} files, {usual.bytes} bytes",
                usual.saved_at,
            ),
        ),
        remedy=f"keep the one before it from deletion: {usual.path}",
        details={
            "path": seen.path,
            "step": seen.step,
            "bytes": seen.bytes,
            "usual_bytes": usual.bytes,
            "missing": [name for name, _, _ in one.missing],
            "sibling": usual.path,
        },
    )


def _part(name: str, here: int, usual: int) -> str:
    """``optimizer.pt is missing``, ``7 of 8 rng_state_#.pth``."""
    return f"{here} of {usual} {name}" if here else f"{name} is missing"


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the save is gone, or a later one is complete again."""
    siblings = view.accumulator(Siblings)
    if siblings is None:
        return ""
    less = {(one.made.path, one.made.saved_at) for one in siblings.shrunk(view.run.started_at)}
    for seen in reversed(view.checkpoints):
        if seen.saved_at <= case.opened_at:
            break
        if seen.state == "ok" and (seen.path, seen.saved_at) not in less:
            return f"the save after it, {short_path(seen.path)}, is complete again"
    if any(c.path == case.key for c in view.checkpoints):
        return ""  # that it is good as far as it goes is known: it has less than the others
    return gone_or_good(view, case.key)


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(CheckpointSeen,),
    every_tick=True,
    clears_after_s=30.0,
    accumulators=(Siblings,),
    recovered=recovered,
)
