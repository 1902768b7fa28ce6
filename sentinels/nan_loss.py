"""The loss stopped being a number.

Symptom: the log prints nan or inf where the training loss was, or the program itself says
    so; the exit status of such a run is usually 0, so nothing else tells.
Confirm: look at the named line; then at grad_norm and the learning rate just before it.
Cause: fp16 overflow, a peak learning rate too high, a bad batch, log(0) or a division by
    zero, a failing GPU.
Remedy:
    1. [safe] Stop the run; every further step is paid for and lost.
    2. [safe] Check that the newest checkpoint from before that step is finite.
    3. [costly] Resume from it with a lower peak learning rate or gradient clipping; if the
       same step fails again, look at its batch, not at the rate.
Not: do not resume from a checkpoint saved after the first non-finite step.
Retry: only after a change; the identical command ends the same way.
Classes: loss_nan loss_inf val_loss_nan grad_nonfinite loss_scale_exhausted overflow_skip
Sources: two values in a row: reviewers of public tools split on patience because a loss
    scaler skips single steps; two is the smallest number that forgives one. No scaler runs
    in an evaluation, so there one is enough for a warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from .kit import Evidence, Finding, LogEvent, ProcessEnded, Sentinel, Severity, Step, View
from .kit.numbers import number


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.nan_loss]`."""

    in_a_row: int = 2
    """Non-finite reports in a row before anyone is woken; a loss scaler skips single ones."""


LOOK_BACK = 96
"""Reports looked at: enough for the newest two of each of 32 interleaved ranks."""
ABOUT = {
    "loss_nan": "train_loss",
    "loss_inf": "train_loss",
    "val_loss_nan": "eval_loss",
    "grad_nonfinite": "grad_norm",
    "loss_scale_exhausted": "loss_scale",
    "overflow_skip": "overflow",
}
"""What a line speaks about, by its class: a value and a line about it are one trouble."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak when the newest reports of a metric are all non-finite, or a line says so."""
    in_a_row = max(1, limits.in_a_row)
    found: list[Finding | None] = []
    if _suspicious(view):
        found = [
            _judge(view, in_a_row, "train_loss", "the loss", Severity.CRITICAL),
            _judge(view, 1, "eval_loss", "the evaluation loss", Severity.WARNING),
            _judge(view, in_a_row, "grad_norm", "the gradient norm", Severity.WARNING),
        ]
    spoken = set()
    for finding in found:
        if finding is not None:
            spoken.add(finding.key)
            yield finding
    for finding in _told(view, in_a_row):
        if finding.key not in spoken:
            yield finding


def _suspicious(view: View) -> bool:
    """A sum is finite only if every part is: the healthy case costs one addition a report."""
    recent = islice(reversed(view.steps), LOOK_BACK)
    return not all(math.isfinite(sum(step.values.values())) for step in recent)


def _judge(
    view: View, in_a_row: int, metric: str, called: str, severity: Severity
) -> Finding | None:
    over = view.ended or view.ending is not None
    for bad in _streaks(view, metric):
        if len(bad) < in_a_row:
            if not over:
                continue
            severity = Severity.WARNING  # the last report of all: nothing will forgive it
        first, decided = bad[-1], bad[-min(in_a_row, len(bad))]
        value = first.values[metric]
        where = "" if first.number is None else f" since step {number(first.number)}"
        return Finding(
            trouble=_trouble(metric, value),
            key=metric,
            severity=severity,
            fatal=severity is Severity.CRITICAL,
            summary=f"{called} is {_spell(value)}{where}",
            evidence=(Evidence("log", first.text, first.at),) if first.text else (),
            file=first.file,
            line=first.line,
            decided_line=decided.line,
            details={"step": first.number, "metric": metric, "rank": first.rank},
        )
    return None


def _streaks(view: View, metric: str) -> list[list[Step]]:
    """The newest non-finite reports, newest first, of every rank and file; longest first."""
    bad: dict[tuple[str, int | None], list[Step]] = {}
    over: set[tuple[str, int | None]] = set()
    for step in islice(reversed(view.steps), LOOK_BACK):
        value = step.values.get(metric)
        if value is None:
            continue
        stream = (step.file, step.rank)
        if math.isfinite(value):
            over.add(stream)
        elif stream not in over:
            bad.setdefault(stream, []).append(step)
    return sorted(bad.values(), key=len, reverse=True)


def _told(view: View, in_a_row: int) -> Iterator[Finding]:
    """What the program itself says. One line of a program that goes on is a skipped batch."""
    by_metric: dict[str, list[LogEvent]] = {}
    for event in view.events:
        if event.trouble in ABOUT:
            by_metric.setdefault(ABOUT[event.trouble], []).append(event)
    for metric, events in by_metric.items():
        newest = events[-1]
        overcame = view.overcame(newest)
        if view.live and (overcame or newest.severity == "info"):
            continue
        severity = Severity.INFO if overcame else Severity.parse(newest.severity)
        lasts = len([e for e in events[-in_a_row:] if not view.overcame(e)]) == in_a_row
        over = not view.live or view.ending is not None or metric == "loss_scale"
        if not over and not lasts:
            severity = min(severity, Severity.WARNING)
        yield Finding(
            trouble=newest.trouble,
            key=metric,
            severity=severity,
            fatal=newest.fatal and severity is Severity.CRITICAL,
            summary=f"the log says: {newest.text.strip()[:160]}",
            evidence=(Evidence("log", newest.text, newest.at),),
            file=newest.file,
            line=newest.line,
            details={**newest.details, "rank": newest.rank, "count": len(events)},
        )


def _trouble(metric: str, value: float) -> str:
    if metric == "eval_loss":
        return "val_loss_nan"
    if metric == "grad_norm":
        return "grad_nonfinite"
    return "loss_inf" if math.isinf(value) else "loss_nan"


def _spell(value: float) -> str:
    return "NaN" if math.isnan(value) else "infinite"


SENTINEL = Sentinel(check, Limits(), on=(Step, LogEvent, ProcessEnded))
