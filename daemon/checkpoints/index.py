"""``checkpoints_index.json``: what there is, which one is newest, best, and fit to resume from.

The truth about step and metrics is looked for in this order: the checkpoint itself, then the
log of the run; ``metrics_origin`` says which it was.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from middlewatch.sentinels.kit import CheckpointSaved, CheckpointSeen, Step

from ..clock import iso

SCHEMA = "middlewatch/checkpoints/v1"
Origin = Literal["checkpoint", "log", "both"]
_ORIGINS: Mapping[tuple[bool, bool], Origin | None] = {
    (False, False): None,
    (True, False): "checkpoint",
    (False, True): "log",
    (True, True): "both",
}

_MILESTONE = re.compile(r"(?:^|[-_./])(?:milestone|final|phase[-_]?\d+[-_]end)", re.IGNORECASE)
_CLAIM_REACH_S = 600.0
"""Between the line that claims a save and the last byte of it, which may come in either order.
Our choice, not measured: ten minutes, as long as a writer is waited for."""
_EVALUATED = ("eval_", "val_", "accuracy")
"""Metrics of an evaluation: they belong to the save that follows, not to every later one."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A checkpoint with what the log adds to it."""

    seen: CheckpointSeen
    metrics_origin: Origin | None
    """Where its metrics come from; ``None`` when nobody tells any."""


def build(
    run: str,
    checkpoints: Sequence[CheckpointSeen],
    now: float,
    *,
    metric: str = "eval_loss",
    started_at: float | None = None,
    steps: Sequence[Step] = (),
    claims: Sequence[CheckpointSaved] = (),
    digests: Mapping[str, str] | None = None,
    milestones: Collection[str] = (),
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The index as one JSON-ready dict; oldest checkpoint first.

    ``metric``: what makes a checkpoint the best one, lower is better; ``train_loss`` stands in
    where no checkpoint has it. ``started_at``: when the run began (epoch seconds); what was
    saved before is of an older run and never the newest, however high its step.
    ``digests``: ``sha256:…`` or ``xxh3:…`` by path. ``milestones``: paths of checkpoints to
    keep; names that say so count as well. ``before``: the index as it was, which remembers
    what the log said about a save when its lines are no longer at hand.
    """
    remembered = _remembered(before, checkpoints) if before else {}
    joined = {j.seen.path: j for j in attach_metrics(checkpoints, steps, claims, remembered)}
    ordered = in_order([j.seen for j in joined.values()], started_at)
    sound = [c for c in ordered if c.state == "ok"]
    latest = ordered[-1].path if ordered else None
    best = best_of(sound, metric)
    entries = []
    for seen in ordered:
        tags = {
            "latest": seen.path == latest,
            "best": seen.path == best,
            "milestone": seen.path in milestones or bool(_MILESTONE.search(_name(seen.path))),
        }
        entry = _entry(seen, [tag for tag, holds in tags.items() if holds])
        entry["metrics_origin"] = joined[seen.path].metrics_origin
        entry["digest"] = (digests or {}).get(seen.path)
        entries.append(entry)
    return {
        "schema": SCHEMA,
        "run": run,
        "updated_at": iso(now),
        "checkpoints": entries,
        "latest": latest,
        "best": best,
        "resume_from": sound[-1].path if sound else None,
    }


def in_order(
    checkpoints: Sequence[CheckpointSeen], started_at: float | None = None
) -> list[CheckpointSeen]:
    """Oldest first: by run, then step, then time.

    One without a step stands behind those saved before it. A step counts only inside one run:
    a folder of an older run, with a higher step, comes before everything of this one.
    """
    keyed = []
    highest = {False: -math.inf, True: -math.inf}
    for seen in sorted(checkpoints, key=lambda c: (c.saved_at, c.path)):
        current = started_at is None or seen.saved_at >= started_at
        step = highest[current] if seen.step is None else seen.step
        highest[current] = max(highest[current], step)
        keyed.append((current, step, seen.saved_at, seen.path, seen))
    keyed.sort(key=lambda k: k[:4])
    return [k[4] for k in keyed]


def best_of(sound: Sequence[CheckpointSeen], metric: str) -> str | None:
    """Path of the one with the lowest metric, the newest of equals; ``None`` without any."""
    for name in (metric, "train_loss"):
        rated = [
            (seen.metrics[name], -position, seen.path)
            for position, seen in enumerate(sound)
            if math.isfinite(seen.metrics.get(name, math.nan))
        ]
        if rated:
            return min(rated)[2]
    return None


def attach_metrics(
    checkpoints: Sequence[CheckpointSeen],
    steps: Sequence[Step],
    claims: Sequence[CheckpointSaved],
    remembered: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Joined]:
    """Fill in step and metrics from the log where the checkpoint does not tell them.

    ``remembered`` are entries of an earlier index by path: what the log said then. Metrics are the nearest at or before the save: by step number where the save has one, else
    by time. Those of an evaluation are taken only when the evaluation came after the save
    before this one. Oldest checkpoint first.
    """
    reports = sorted(steps, key=lambda s: s.at)
    found: list[Joined] = []
    before: CheckpointSeen | None = None
    for bare in sorted(checkpoints, key=lambda c: (c.saved_at, c.path)):
        known = (remembered or {}).get(bare.path, {})
        step = bare.step if bare.step is not None else known.get("step")
        if step is None:
            step = _step_in_log(bare, reports, claims)
        seen = replace(bare, step=step)
        logged = {name: float(value) for name, value in known.get("metrics", {}).items()}
        logged |= _metrics_in_log(seen, before, reports)
        added = bool(logged.keys() - seen.metrics.keys())
        origin = _ORIGINS[bool(seen.metrics), added]
        if added:
            seen = replace(seen, metrics={**logged, **seen.metrics})
        found.append(Joined(seen, origin))
        before = seen
    return found


def _remembered(
    index: Mapping[str, Any], checkpoints: Sequence[CheckpointSeen]
) -> dict[str, Mapping[str, Any]]:
    """Entries of an earlier index about the very same saves: same path, same time."""
    saved = {c.path: iso(c.saved_at) for c in checkpoints}
    return {
        entry["path"]: entry
        for entry in index.get("checkpoints", ())
        if entry["metrics_origin"] in ("log", "both")
        and saved.get(entry["path"]) == entry["saved_at"]
    }


def _step_in_log(
    seen: CheckpointSeen, reports: Sequence[Step], claims: Sequence[CheckpointSaved]
) -> float | None:
    """The step of the claim about this path nearest in time, else of the last report before."""
    near = [
        (abs(claim.at - seen.saved_at), claim.step)
        for claim in claims
        if claim.step is not None
        and abs(claim.at - seen.saved_at) <= _CLAIM_REACH_S
        and (claim.path is None or _same(claim.path, seen.path))
    ]
    if near:
        return min(near)[1]
    earlier = (
        r.number for r in reversed(reports) if r.number is not None and r.at <= seen.saved_at
    )
    return next(earlier, None)


def _metrics_in_log(
    seen: CheckpointSeen, before: CheckpointSeen | None, reports: Sequence[Step]
) -> dict[str, float]:
    """The newest value of every metric; reports in order of time."""
    # A log read in one go was seen after all its saves; after a restart from an earlier step
    # the same steps come twice. Hence: what was seen before the save counts more.
    limit = seen.saved_at + _CLAIM_REACH_S
    fitting = [r for r in reports if _at_or_before(r, seen)]
    found: dict[str, float] = {}
    for timely in (False, True):
        for report in fitting:
            if (report.at <= limit) is not timely:
                continue
            old = before is not None and _was_before(before, seen) and _at_or_before(report, before)
            found.update(
                (n, v) for n, v in report.values.items() if not (old and n.startswith(_EVALUATED))
            )
    return found


def _was_before(one: CheckpointSeen, other: CheckpointSeen) -> bool:
    return one.step is None or other.step is None or one.step < other.step


def _at_or_before(report: Step, seen: CheckpointSeen) -> bool:
    if seen.step is not None and report.number is not None:
        return report.number <= seen.step
    return report.at <= seen.saved_at


def _same(claimed: str, path: str) -> bool:
    """A log names a path as the program was given it: often relative, or the folder only."""
    claimed = os.path.normpath(claimed)
    if claimed.startswith("/"):
        return path == claimed or path.startswith(claimed + "/")
    return path.endswith("/" + claimed) or f"/{claimed}/" in path


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _entry(seen: CheckpointSeen, tags: Sequence[str]) -> dict[str, Any]:
    return {
        "path": seen.path,
        "step": _plain(seen.step),
        "epoch": _plain(seen.epoch),
        "saved_at": iso(seen.saved_at),
        "bytes": seen.bytes,
        "files": seen.files,
        "format": seen.format,
        "metrics": {name: _plain(value) for name, value in sorted(seen.metrics.items())},
        "tags": list(tags),
        "verified": {
            "state": seen.state,
            "level": seen.level,
            "at": iso(seen.at) if seen.level is not None else None,
            "detail": seen.detail,
        },
    }


def _plain(number: float | None) -> float | int | str | None:
    """Whole numbers without a fraction; JSON has no NaN, so that one is a string."""
    if number is None:
        return None
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return int(number) if number == int(number) and abs(number) < 2**53 else number
