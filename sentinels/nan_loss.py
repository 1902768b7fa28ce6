"""The loss is NaN or infinite.

Decides: The newest reports of a metric are all NaN or infinite, or a line of the program says so.
    The training loss is critical; the evaluation loss and the gradient norm are warnings. One of
    several losses alone (a mask loss without objects) is a warning, all of them are critical. In
    reports that name no loss, the half of the values becomes non-finite for three reports. A
    trial of a search may diverge: it is told when none of the last three trials has a finite loss,
    or when one goes on with it for a hundred reports; eight trials in a row that ended with an error are
    critical. The exit status of such a run is usually 0, so the rule does not wait for it.
Classes: loss_nan loss_inf val_loss_nan grad_nonfinite
Sources: Two values in a row, because a loss scaler skips single steps; two is the smallest number
    that ignores a single one. An evaluation uses no loss scaler, so there one value is enough.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .kit import (
    Evidence,
    Finding,
    LogEvent,
    Phase,
    ProcessEnded,
    Sentinel,
    Severity,
    Step,
    View,
)
from .kit.loss.before_nan import step_by_reports
from .kit.loss.finite import EARLY, Finiteness, Streak, is_component
from .kit.numbers import number, pace
from .kit.progress import completed, ended_well
from .kit.recovery import OpenIncident, values_since
from .kit.trials import Trials, trials_of
from .kit.troubles import Troubles, describe_event


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.nan_loss]`."""

    in_a_row: int = 2
    """Non-finite reports in a row before it is reported; a loss scaler skips single ones."""


ENDED_S = 10.0
"""Seconds between an exception and the line that ends its trial (our choice)."""
PATIENCE = 100
"""Reports in a row that are not finite, after which one trial of a search that is not ended is told as
well (our choice: a search looks at the end of an epoch or of a rung)."""
_OF_AGENTS = re.compile(r"(?i)actor|critic|policy|value|(?:^|[^a-z])(?:qf?\d?|td|ent\w*)[ _]?loss")
"""Losses of agents, which collect experience before they learn."""
WARM_REPORTS = 20
"""Reports in a row with such a loss of one part of several from the first on (our choice)."""
UNEVALUATED = 64
"""Reports in a row with a finite training loss and an evaluation loss that was never finite: until the
first evaluation, NaN stands for "none yet" (our choice)."""
OFTEN = 2
"""Times that a metric came back, from which that is how this run is (our choice: a search ends trials so)."""
SCALER_STEPS = 20
"""Reports in a row with such a gradient from the first on: a loss scaler begins at 2^16 (PyTorch) and
halves it with each step that it skips, down to where the gradients fit, at 2^0 at the latest."""
FAILED = 8
"""Trials in a row that ended with an error, from which the search only costs money (our choice)."""
TRAININGS, DROPPED = 3, 3
"""Trainings that began anew in one run, from which the next may do so as well, and reports until then (our choice)."""
MEASURED = 2
"""Finite losses behind a line that says NaN, by which that line is no longer believed (our choice)."""
AWAITED_S = 3.0
"""Seconds for which these are waited for at least: a log is read once a second, in pieces (our choice)."""
UNPROVEN_S, REPORTS = 30.0, 3.0
"""Seconds, and usual distances of reports, without a report after a line that says NaN, from which the
line alone is told: whoever skips a batch goes on with the next one (our choice)."""
CALLED = {
    "train_loss": "the loss",
    "eval_loss": "the evaluation loss",
    "grad_norm": "the gradient norm",
}
ABOUT = {
    "loss_nan": "train_loss",
    "loss_inf": "train_loss",
    "val_loss_nan": "eval_loss",
    "grad_nonfinite": "grad_norm",
}
"""Class of a line -> the metric that it is about: a value and a line about it are one finding."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings if the newest reports of a metric are all non-finite, or a line says so."""
    in_a_row = max(1, limits.in_a_row)
    said = {f.key: f for f in _told(view, in_a_row)}
    values = view.accumulator(Finiteness)
    if values is not None and not values.quiet:
        for finding in _values(values, view, in_a_row):
            told = said.pop(finding.key, None)
            if told is not None and told.fatal and not finding.fatal:
                # The value was seen only once, but the line says that the program ended for it.
                finding = replace(finding, severity=told.severity, fatal=True)
            yield finding
    yield from said.values()
    yield from _trials(view)


def _trials(view: View) -> Iterator[Finding]:
    """A finding if none of the last trials of a search ended with a result."""
    trials = trials_of(view)
    line = None if trials is None or not trials.hopeless else trials.newest
    if trials is not None and line is not None and (not trials.failing or trials.lasts(view.now)):
        metric, value = "train_loss", math.nan if "nan" in line.text.lower() else math.inf
        raised = _raised(view, line.at) if trials.failing else None
        says = line.text.strip()[:120] if raised is None else describe_event(raised)
        bad = trials.bad_in_a_row
        what = (
            f"none of the last {bad} trials of the search has a finite result"
            if raised is None
            else f"the last {bad} trials of the search have all failed"
        )
        yield Finding(
            trouble="recurring_error" if trials.failing else _trouble(metric, value),
            key="trials",
            severity=Severity.CRITICAL if trials.failing and bad >= FAILED else Severity.WARNING,
            summary=f"{what}: {says}",
            evidence=(Evidence("log", line.text, line.at),),
            remedy="read the log of one of these trials: what they share is at fault, not a setting",
            file=line.file,
            line=line.line,
        )


def _raised(view: View, at: float) -> LogEvent | None:
    """The newest exception shortly before ``at`` (epoch seconds): the end of a trial is logged with it."""
    near = (e for e in reversed(view.events) if at - ENDED_S <= e.at <= at)
    return next((e for e in near if e.details.get("exception")), None)


def _values(values: Finiteness, view: View, in_a_row: int) -> Iterator[Finding]:
    # No loss scaler makes the losses of training and evaluation non-finite at once.
    both = bool(values.lasting("train_loss")) and bool(values.lasting("eval_loss"))
    for metric, severity in (
        ("train_loss", Severity.CRITICAL),
        ("eval_loss", Severity.WARNING),
        ("grad_norm", Severity.WARNING),
    ):
        patience = 1 if metric == "eval_loss" or (metric == "train_loss" and both) else in_a_row
        if metric == "grad_norm":
            # Gradients are first: the loss that follows is the same trouble.
            patience += view.live
            if not values.ever_finite(metric):
                patience = max(patience, SCALER_STEPS)
        streaks = values.lasting(metric)
        if metric == "grad_norm" and not values.ever_finite(metric):
            # A loss scaler that skips a step may say so with the norm of its gradient.
            streaks = [streak for streak in streaks if not streak.only_when_bad]
        if metric == "eval_loss" and streaks and streaks[0].beside:
            # A program that prints it with every report has none before its first evaluation.
            patience = patience if values.ever_finite(metric) else UNEVALUATED
        patience = max(patience, _of_a_row_of_trainings(view))
        if streaks:
            if not _as_before(values, streaks[0], view):
                yield from _lasting(streaks[0], view, patience, severity)
        elif not view.live:
            yield from _came_back(values.ended(metric), patience)
    for streak in values.lasting()[:1]:
        severity = Severity.WARNING if streak.alone else Severity.CRITICAL
        # NaN from the first report on may say "not trained yet": agents warm up before they learn.
        warms = view.live and streak.heard - streak.count <= EARLY
        warms = warms and not values.ever_finite(streak.metric)
        warms = warms and _OF_AGENTS.search(streak.metric) is not None
        patience = max(in_a_row, WARM_REPORTS) if warms else in_a_row
        if not is_component(streak.metric):
            patience += 1  # its words do not say that it is a loss
        yield from _lasting(streak, view, patience, severity)


def _lasting(streak: Streak, view: View, in_a_row: int, severity: Severity) -> Iterator[Finding]:
    if _of_a_trial(view, streak):
        return
    if streak.count < in_a_row:
        if not view.ended and view.ending is None:
            return
        severity = Severity.WARNING  # it was the last report: no further one can be finite
    finding = _finding(streak, in_a_row, severity, f"{_name(streak)} is {_spell(streak, in_a_row)}")
    if streak.metric == "train_loss":
        first = streak.first
        finding = replace(
            finding, remedy=step_by_reports(view, first.line, streak.file, first.step)
        )
    yield finding


def _as_before(values: Finiteness, streak: Streak, view: View) -> bool:
    """True at the good end of a run, for what it has come back from again and again: a search in which the
    last setting diverges, as others did."""
    if not ended_well(view) or values.returns(streak.metric) < OFTEN:
        return False
    longest = values.ended(streak.metric)
    return longest is not None and streak.count <= longest.count


def _of_a_row_of_trainings(view: View) -> int:
    """Reports in a row that are asked for where one training after the other begins anew: a search whose words are
    not known drops a bad setting after its first report."""
    trials = view.accumulator(Trials)
    return DROPPED if view.live and trials is not None and trials.rounds >= TRAININGS else 0


def _of_a_trial(view: View, streak: Streak) -> bool:
    """True while it may be the setting of a trial, which the search sees itself."""
    trials = trials_of(view)
    return trials is not None and not trials.hopeless and streak.count <= PATIENCE


def _came_back(streak: Streak | None, in_a_row: int) -> Iterator[Finding]:
    """In a finished log: a metric that was not finite for a while and became finite again."""
    if streak is None or streak.over is None:
        return
    if streak.count < in_a_row and streak.metric != "train_loss":
        return  # a loss scaler skips single steps: of those only a lost loss is worth a note
    severity = Severity.INFO if streak.count == 1 else Severity.WARNING
    reports = "one report" if streak.count == 1 else f"{streak.count} reports"
    was = f"{_name(streak)} was {_spell(streak, in_a_row)} in {reports}"
    yield _finding(streak, in_a_row, severity, was)


def _finding(streak: Streak, in_a_row: int, severity: Severity, says: str) -> Finding:
    first = streak.first
    where = "" if first.step is None else f" since step {number(first.step)}"
    if streak.over is not None:
        where = "" if first.step is None else f" from step {number(first.step)} on"
        if streak.over.step is not None:
            where += f", until step {number(streak.over.step)}"
    component = None if streak.metric in CALLED else streak.metric
    return Finding(
        trouble=_trouble(streak.metric, _worst(streak, in_a_row)),
        key=streak.metric if component is None else "components",
        severity=severity,
        fatal=severity is Severity.CRITICAL,
        summary=says + where,
        evidence=(Evidence("log", first.text, first.at),) if first.text else (),
        file=streak.file,
        line=first.line,
        decided_line=streak.decided(in_a_row).line,
        details={"step": first.step, "metric": streak.metric, "rank": streak.rank},
    )


def _told(view: View, in_a_row: int) -> Iterator[Finding]:
    """Findings from lines of the program; a single line of one that goes on is a skipped batch."""
    trials = trials_of(view)
    if trials is not None and not trials.hopeless:
        return
    by_metric: dict[str, list[LogEvent]] = {}
    for event in view.events:
        if event.trouble in ABOUT:
            by_metric.setdefault(ABOUT[event.trouble], []).append(event)
    for metric, events in by_metric.items():
        newest = events[-1]
        overcame = view.went_on_after(newest)
        if view.live and (overcame or newest.severity == "info"):
            continue
        severity = Severity.INFO if overcame else Severity.parse(newest.severity)
        wanted = SCALER_STEPS if metric == "grad_norm" else in_a_row
        if ended_well(view) and "skip" in newest.text.lower():
            continue  # by design, though it was the last step
        lasts = len([e for e in events[-wanted:] if not view.went_on_after(e)]) == wanted
        well = view.ending is None or (ended_well(view) and completed(view))
        if view.live and _contradicted(view, newest):
            continue
        if view.live and well and not lasts:
            if not newest.fatal and view.now - newest.at < _unproven_s(view):
                continue  # the next reports will show whether it was one batch
            severity = min(severity, Severity.WARNING)
        first = events[0]
        yield Finding(
            trouble=newest.trouble,
            remedy=step_by_reports(view, first.line, first.file, None)
            if metric == "train_loss"
            else "",
            key=metric,
            severity=severity,
            fatal=newest.fatal and severity is Severity.CRITICAL,
            summary=f"the log says: {newest.text.strip()[:160]}",
            evidence=(Evidence("log", newest.text, newest.at),),
            file=newest.file,
            line=newest.line,
            details={**newest.details, "rank": newest.rank, "count": len(events)},
        )


def _contradicted(view: View, event: LogEvent) -> bool:
    """True for a line about the training loss when the reports behind it have finite ones, or may come yet: what a
    model writes, or a text that is learnt, speaks of NaN as well."""
    if ABOUT.get(event.trouble) != "train_loss" or view.ending is not None or view.ended:
        return False
    after = [
        s.loss
        for s in view.steps
        if s.file == event.file and s.line > event.line and s.loss is not None
    ]
    if not all(map(math.isfinite, after)):
        return False
    rhythm = pace(view.step_times)
    if len(after) >= MEASURED or rhythm is None:
        return len(after) >= MEASURED
    return view.now - event.at < min(UNPROVEN_S, max(AWAITED_S, REPORTS * rhythm.typical_s))


def _unproven_s(view: View) -> float:
    """Seconds for which a single line proves nothing: in that time the next reports come."""
    rhythm = pace(view.step_times)
    return max(UNPROVEN_S, REPORTS * rhythm.typical_s) if rhythm else UNPROVEN_S


def _trouble(metric: str, value: float) -> str:
    if metric == "eval_loss":
        return "val_loss_nan"
    if metric == "grad_norm":
        return "grad_nonfinite"
    return "loss_inf" if math.isinf(value) else "loss_nan"


def _name(streak: Streak) -> str:
    return CALLED.get(streak.metric, streak.metric)


def _worst(streak: Streak, in_a_row: int) -> float:
    """NaN if one of the deciding reports is NaN: a loss that overflows is infinite for a report or two first."""
    decide = (mark.value for mark in streak.marks[:in_a_row])
    return next((value for value in decide if math.isnan(value)), streak.first.value)


def _spell(streak: Streak, in_a_row: int) -> str:
    if math.isnan(streak.first.value):
        return "NaN"
    return "infinite, then NaN" if math.isnan(_worst(streak, in_a_row)) else "infinite"


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once so many reports in a row are finite as it takes to report the opposite."""
    if case.key == "trials":
        trials = view.accumulator(Trials)
        return "" if trials is None or trials.hopeless else "a trial has a finite result again"
    values = view.accumulator(Finiteness)
    names = (
        [case.key]
        if case.key != "components"
        else sorted(view.steps[-1].values)
        if view.steps
        else []
    )
    for name in names:
        if values is not None and values.lasting(name if name in CALLED else None):
            return ""
        newest = values_since(view, name, case.quiet_since)[: max(1, limits.in_a_row)]
        if len(newest) >= max(1, limits.in_a_row) and all(map(math.isfinite, newest)):
            return f"{CALLED.get(name, name)} is finite again: {number(newest[0])} now"
    return ""


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(Step, LogEvent, ProcessEnded, Phase),
    accumulators=(Finiteness, Troubles, Trials),
    recovered=recovered,
)
