"""What the log of a run adds to its checkpoints: step and metrics that the files do not hold."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from middlewatch.sentinels.kit import CheckpointSaved, CheckpointSeen, Step

_CLAIM_REACH_S = 600.0
"""Seconds between the log line that claims a save and the last byte of it, in either order. Our
choice, not measured: ten minutes, as long as a writer is waited for."""
_EVALUATED = ("eval_", "val_", "accuracy")
"""Prefixes of metrics of an evaluation: they belong to the next save, not to every later one."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A checkpoint with what the log adds to it."""

    seen: CheckpointSeen
    step_origin: str | None
    """``checkpoint``, ``state``, ``name`` or ``log``; ``None`` when the step is unknown."""
    metrics_origin: str | None
    """The same, or ``both`` where the log adds to the metrics of the checkpoint."""


def attach_metrics(
    checkpoints: Sequence[CheckpointSeen],
    steps: Sequence[Step],
    claims: Sequence[CheckpointSaved],
    remembered: Mapping[str, Mapping[str, Any]] | None = None,
    settled: Mapping[str, Joined] | None = None,
) -> list[Joined]:
    """Fill in step and metrics from the log where the checkpoint has none; oldest first.

    ``remembered``: entries of an earlier index by path, with what the log said then. Metrics
    are the nearest at or before the save: by step number where the save has one, else by time.
    Those of an evaluation are taken only if the evaluation came after the previous save. A
    step in the name of a save takes precedence over the log, because the trainer wrote it.
    ``settled``: by path, what was found before of saves about which the log says nothing new.
    """
    reports = sorted(steps, key=lambda s: s.at)
    earliest, lowest = reach(steps)
    by_name = _by_name(reports)
    found: list[Joined] = []
    before: CheckpointSeen | None = None
    for bare in sorted(checkpoints, key=lambda c: (c.saved_at, c.path)):
        done = settled.get(bare.path) if settled else None
        if done is not None:
            found.append(done)
            before = done.seen
            continue
        known = (remembered or {}).get(bare.path, {})
        step, step_origin = bare.step, bare.step_origin or "checkpoint"
        if step is None:
            step, step_origin = _remembered_step(known), "log"
        if step is None:
            step = _step_in_log(bare, reports, claims)
        seen = bare if step == bare.step else replace(bare, step=step)
        logged = _remembered_metrics(known)
        # Most of thousands of saves are older than all reports that are still known.
        if bare.saved_at >= earliest or (step is not None and step >= lowest):
            logged |= _metrics_in_log(seen, before, by_name)
        origin = (bare.metrics_origin or "checkpoint") if bare.metrics else None
        if logged.keys() - seen.metrics.keys():
            origin = "both" if origin else "log"
            seen = replace(seen, metrics={**logged, **seen.metrics})
        found.append(Joined(seen, None if step is None else step_origin, origin))
        before = seen
    return found


def reach(steps: Sequence[Step]) -> tuple[float, float]:
    """The time of the oldest of these reports, and the lowest step: of saves before both the log says
    nothing."""
    earliest = min((report.at for report in steps), default=math.inf)
    return earliest, min((r.number for r in steps if r.number is not None), default=math.inf)


def _remembered_step(entry: Mapping[str, Any]) -> float | None:
    step = entry.get("step")
    return float(step) if entry.get("step_origin", "log") == "log" and step is not None else None


def _remembered_metrics(entry: Mapping[str, Any]) -> dict[str, float]:
    if entry.get("metrics_origin") not in ("log", "both"):
        return {}
    return {name: float(value) for name, value in entry.get("metrics", {}).items()}


def _step_in_log(
    seen: CheckpointSeen, reports: Sequence[Step], claims: Sequence[CheckpointSaved]
) -> float | None:
    """Step of the claim about this path nearest in time, else of the last report before it."""
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


def _by_name(reports: Sequence[Step]) -> dict[str, list[Step]]:
    """The reports that have a metric, by its name, the newest first."""
    found: dict[str, list[Step]] = {}
    for report in reversed(reports):
        for name in report.values:
            found.setdefault(name, []).append(report)
    return found


def _metrics_in_log(
    seen: CheckpointSeen, before: CheckpointSeen | None, reports: Mapping[str, Sequence[Step]]
) -> dict[str, float]:
    """The newest value of every metric at this save. ``reports``: as of :func:`_by_name`.

    Most saves find each metric in the first report that they look at: thousands of saves beside
    hundreds of reports must not cost their product.
    """
    # The reports of a log that is read in one go all come later than its saves; after a restart
    # from an earlier step the same steps come twice. So reports from before the save win.
    limit = seen.saved_at + _CLAIM_REACH_S
    follows = before is not None and _was_before(before, seen)
    found: dict[str, float] = {}
    for name, having in reports.items():
        passed = before if follows and name.startswith(_EVALUATED) else None
        late: Step | None = None
        for report in having:
            if not _at_or_before(report, seen) or (passed and _at_or_before(report, passed)):
                continue
            if report.at <= limit:
                found[name] = report.values[name]
                break
            late = late or report
        else:
            if late is not None:
                found[name] = late.values[name]
    return found


def _was_before(one: CheckpointSeen, other: CheckpointSeen) -> bool:
    return one.step is None or other.step is None or one.step < other.step


def _at_or_before(report: Step, seen: CheckpointSeen) -> bool:
    if seen.step is not None and report.number is not None:
        return report.number <= seen.step
    return report.at <= seen.saved_at


def _same(claimed: str, path: str) -> bool:
    """Whether a claimed path means this one: it is often relative, or only the folder."""
    claimed = os.path.normpath(claimed)
    if claimed.startswith("/"):
        return path == claimed or path.startswith(claimed + "/")
    return path.endswith("/" + claimed) or f"/{claimed}/" in path
