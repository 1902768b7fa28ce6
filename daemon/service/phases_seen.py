"""The phases of a training as the daemon sees them: the plan in its file, and what is known of an end."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import codec
from middlewatch.sentinels.kit.numbers import median

from ..resume.phases import LastSave, PhaseEnd, PhasePlan
from ..system.clock import epoch
from .watched_run import WatchedRun

LONGEST = 4 << 20
"""Bytes of a plan: four thousand phases with commands of a kilobyte (our choice)."""


def plan_of(watched: WatchedRun) -> PhasePlan | None:
    """The plan that the run is a phase of; ``None`` where it has none, or none that can be read."""
    path = watched.spec.plan
    if not path:
        return None
    try:
        with Path(path).open("rb") as file:
            plan: PhasePlan = codec.load(PhasePlan, json.loads(file.read(LONGEST)))
        plan.place(watched.spec.phase)
    except (OSError, ValueError, KeyError):
        return None
    return plan


def is_last(watched: WatchedRun) -> bool:
    """True for the last phase, and for a run without phases."""
    plan = plan_of(watched)
    return plan is None or plan.place(watched.spec.phase) == len(plan.phases) - 1


def end_of_phase(watched: WatchedRun, earlier: list[WatchedRun]) -> PhaseEnd:
    """What is known of the end of a phase. ``earlier``: the runs that it goes on from, oldest first."""
    history = watched.history
    steps = [step for _, step in history.step_times]
    curves = (curve.points for curve in history.curves.values() if curve.points)
    first = min((points[0][0] for points in curves), default=steps[0] if steps else None)
    before = _reached([one for one in earlier if one.spec.phase != watched.spec.phase])
    goes_on = first is not None and first >= before
    return PhaseEnd(
        finished=watched.state == "finished",
        why_not=watched.reason,
        began_at_step=before if goes_on else 0.0,
        step=max(steps, default=None),
        every=median([b - a for a, b in pairwise(steps) if b > a] or [1.0]),
        values=history.latest,
        save=_last_save(watched),
    )


def _reached(runs: list[WatchedRun]) -> float:
    return max((step for run in runs for _, step in run.history.step_times), default=0.0)


def _last_save(watched: WatchedRun) -> LastSave | None:
    """Its newest save, by the index; ``None`` where it has made none itself."""
    index: dict[str, Any] = watched.index
    entry = next((e for e in index["checkpoints"] if e["path"] == index["latest"]), None)
    if entry is None or epoch(entry["saved_at"]) < watched.facts.started_at:
        return None
    verified = entry["verified"]
    return LastSave(entry["path"], verified["state"], verified["detail"] or "")
