"""From what was told to a table: recall, precision, cause, first remedy, seconds.

A fault is found if an alarm of an expected class arrives after the injection, late or not.
A page is right if it is about the trouble that was made; everything else at that volume is
false, and so is the second page about the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .lab import CORRECTION_S, RANK, Alarm, Outcome

GOALS = {"recall": 0.97, "precision": 0.97, "cause": 0.9, "remedy": 0.9, "in_time": 0.95}
"""What the shares must reach; of recall also every single row, at ``CLASS_RECALL``."""
CLASS_RECALL = 0.8


@dataclass
class Judged:
    """What one outcome is worth. The answers are None for controls."""

    outcome: Outcome
    noticed: bool | None = None
    """Something audible enough was told after the injection, whatever it was called."""
    found: bool | None = None
    in_time: bool | None = None
    cause: bool | None = None
    remedy: bool | None = None
    seconds: float | None = None
    pages: int = 0
    false_pages: list[Alarm] = field(default_factory=list)
    loud: bool = False
    """Said something at a volume that this row forbids."""


def judge(outcome: Outcome) -> Judged:
    """One outcome."""
    fault, told = outcome.fault, sorted(outcome.alarms, key=lambda a: a.at)
    judged = Judged(outcome)
    pages = [a for a in told if a.severity == "page"]
    judged.pages = len(pages)
    judged.false_pages = _false(outcome, pages)
    audible = [a for a in told if RANK.get(a.severity, -1) > 0]
    if fault.kind == "control":
        judged.loud = bool(audible)
        return judged
    limit = RANK[fault.most]
    judged.loud = any(RANK.get(a.severity, -1) > limit for a in told) or any(
        a.at < (outcome.injected or 0) for a in audible
    )
    after = [a for a in told if outcome.injected is not None and a.at >= outcome.injected]
    right = [a for a in after if _right_class(outcome, a) and _loud_enough(outcome, a)]
    judged.noticed = any(_loud_enough(outcome, a) for a in after)
    judged.found = bool(right)
    judged.in_time = judged.cause = judged.remedy = False
    if not right or outcome.injected is None:
        return judged
    best = right[0]
    judged.seconds = best.at - outcome.injected
    limit_at = outcome.injected + fault.deadline_s
    judged.in_time = best.at <= min(limit_at, outcome.late or limit_at)
    judged.cause = _cause(outcome, after, best)
    judged.remedy = re.search(fault.remedy, best.first_step, re.IGNORECASE) is not None
    return judged


def _right_class(outcome: Outcome, alarm: Alarm) -> bool:
    return alarm.trouble in outcome.fault.classes


def _loud_enough(outcome: Outcome, alarm: Alarm) -> bool:
    return RANK.get(alarm.severity, -1) >= RANK[outcome.fault.least]


def _cause(outcome: Outcome, after: Sequence[Alarm], best: Alarm) -> bool:
    """The first verdict that woke somebody was the right one, or became it in time."""
    fault = outcome.fault
    first = next((a for a in after if _loud_enough(outcome, a)), best)
    corrected = (
        first.corrected_to in fault.classes and first.corrected_at - first.at <= CORRECTION_S
    )
    if first.trouble not in fault.classes | fault.also and not corrected:
        return False
    return re.search(fault.cause, f"{best.title}\n{best.body}", re.IGNORECASE) is not None


def _false(outcome: Outcome, pages: Iterable[Alarm]) -> list[Alarm]:
    fault, false = outcome.fault, []
    seen: set[str | None] = set()
    for page in pages:
        corrected = page.corrected_to in fault.classes
        ours = page.trouble in fault.classes | fault.also or corrected
        early = outcome.injected is None or page.at < outcome.injected
        again = page.trouble in seen and not page.title.startswith("[CORRECTED]")
        if early or again or not ours or RANK[fault.most] < RANK["page"]:
            false.append(page)
        seen.add(page.trouble)
    return false


@dataclass
class Row:
    """All repeats of one row under one watcher."""

    number: str
    name: str
    kind: str
    deadline_s: float
    runs: list[Judged] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def share(self, what: str) -> float | None:
        """Share of the runs for which this is true; None where it was never asked."""
        answers = [getattr(j, what) for j in self.runs if getattr(j, what) is not None]
        return sum(answers) / len(answers) if answers else None

    def seconds(self, part: float) -> float | None:
        """This quantile of the seconds until it was told."""
        return quantile([j.seconds for j in self.runs if j.seconds is not None], part)


def quantile(values: Sequence[float], part: float) -> float | None:
    """The smallest value that this part of all does not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-part * len(ordered) // 1) - 1))]


@dataclass
class Report:
    """One watcher's table."""

    watcher: str
    rows: list[Row]

    @property
    def asked(self) -> list[Row]:
        """The rows in which something is to be found and that were run."""
        return [r for r in self.rows if r.kind != "control" and (r.runs or r.broken)]

    def totals(self) -> dict[str, float | None]:
        """The shares of ``GOALS``, and of what was noticed at all; None where nothing was asked."""
        runs = [j for r in self.asked for j in r.runs]
        missed = sum(len(r.broken) for r in self.asked)
        found = [j for j in runs if j.found]
        pages = sum(j.pages for r in self.rows for j in r.runs)
        false = sum(len(j.false_pages) for r in self.rows for j in r.runs)
        return {
            "recall": _ratio(len(found), len(runs) + missed),
            "noticed": _ratio(sum(bool(j.noticed) for j in runs), len(runs) + missed),
            "precision": _ratio(pages - false, pages),
            "cause": _ratio(sum(bool(j.cause) for j in found), len(found)),
            "remedy": _ratio(sum(bool(j.remedy) for j in found), len(found)),
            "in_time": _ratio(sum(bool(j.in_time) for j in found), len(found)),
        }

    def failures(self) -> list[str]:
        """Why the thresholds do not hold; empty if they do."""
        told = [] if any(r.runs for r in self.rows) else ["nothing was judged"]
        for what, share in self.totals().items():
            if share is not None and share < GOALS.get(what, 0.0):
                told.append(f"{what} {share:.3f} is below {GOALS[what]:g}")
        for row in self.rows:
            told += [f"row {row.number} {row.name} is broken: {why}" for why in row.broken]
            loud = sum(j.loud for j in row.runs)
            if loud and row.kind == "control":
                told.append(f"row {row.number} {row.name} must stay silent: {loud} times not")
            share = row.share("found")
            if share is not None and share < CLASS_RECALL:
                told.append(f"row {row.number} {row.name}: recall {share:.2f}")
            late = sum(j.in_time is False for j in row.runs if j.found)
            if late > 0.05 * len(row.runs):
                told.append(f"row {row.number} {row.name}: too late {late} times")
        return told

    def as_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "watcher": self.watcher,
            "totals": self.totals(),
            "failures": self.failures(),
            "rows": [_row_json(r) for r in self.rows],
        }


def report(watcher: str, outcomes: Iterable[Outcome]) -> Report:
    """The table of one watcher; rows in the order of the outcomes."""
    rows: dict[str, Row] = {}
    for one in outcomes:
        fault = one.fault
        key = f"{fault.number} {fault.name}"
        row = rows.setdefault(key, Row(fault.number, fault.name, fault.kind, fault.deadline_s))
        if one.state == "not run":
            row.not_run.append(one.reason)
        elif one.state == "broken":
            row.broken.append(one.reason)
        else:
            row.runs.append(judge(one))
    return Report(watcher, list(rows.values()))


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _row_json(row: Row) -> dict[str, Any]:
    shares = {what: row.share(what) for what in ("noticed", "found", "in_time", "cause", "remedy")}
    return {
        "number": row.number,
        "name": row.name,
        "kind": row.kind,
        "deadline_s": row.deadline_s,
        "runs": len(row.runs),
        **shares,
        "p50_s": row.seconds(0.5),
        "p95_s": row.seconds(0.95),
        "pages": sum(j.pages for j in row.runs),
        "false_pages": [a.title for j in row.runs for a in j.false_pages],
        "loud": sum(j.loud for j in row.runs),
        "not_run": row.not_run,
        "broken": row.broken,
        "told": [
            [
                {
                    "after_s": None if j.outcome.injected is None else a.at - j.outcome.injected,
                    "severity": a.severity,
                    "trouble": a.trouble,
                    "title": a.title,
                    "first_step": a.first_step,
                }
                for a in j.outcome.alarms
            ]
            for j in row.runs
        ],
    }
