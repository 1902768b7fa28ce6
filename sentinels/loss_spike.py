"""The training loss jumps out of its noise, or rises slowly.

Decides: Compares the loss with the run's own level and spread (the width of its noise). A jump that
    lasts thirty reports is critical, and so is one out of all proportion that lasts two; a jump
    that comes back is not. Noise whose upper tail is longer than its lower one gets wider limits. A
    slow rise of a tenth of the progress is found by the sum of small deviations, and told when the
    evaluation loss rises too, or when it lasts thirty reports. A jump lower than an earlier
    one that came back is told when it lasts longer, and one upon a lasting jump when it lasts at all.
    Where a loss is the mean of its epoch so far, as Keras prints it, the first quarter of an epoch is left out.
    A loss that climbs from its lowest level, block after block, to 1.25 times that and twice as far as it ever did and came
    back, is a warning, and critical at 1.5 times: that needs no noise, which smoothed logs do not show. If a value that is set
    (a weight, a difficulty, a noise) changes one way with it, it is a note.
    In the first eight reports, before the noise is known, a loss of ten times and a gradient norm of
    ten thousand times all before are a jump together, in one report.
    If the learning rate climbs, report after report, above all that the run had before, and the loss
    has stopped falling, that is a note; at eight times the highest rate before it is critical.
    Two kinds of jump are notes unless half of the progress stays lost: one after the learning-rate
    schedule started again at no higher rate, and one that is like two earlier jumps that came back.
    So is one in a range test of the learning rate (it grows by a constant factor), for thirty reports.
    If the log has no learning rate, any other lasting jump is a warning until half of the progress
    is lost. In reinforcement and adversarial learning losses jump without a fault: there only jumps
    out of all proportion count, measured against all reports before, because the losses of a
    learner grow with its rewards. But a return or an accuracy that had risen, has lost four fifths of that
    again in each of sixteen reports, and hardly moves in them, is a policy or a classifier that has collapsed;
    so is one that does not rise in them, while another measure of its reports is four times as large as it ever was
    in three of them. One that is worse in all of them than in every report before, and does not rise, is a warning.
Classes: loss_spike loss_diverged grad_spike
Sources: Four spreads in two of three reports, or three reports in a row that stay high; measured on
    1,033 real curves: nine of ten labelled events at a median delay of one report, with fewer than
    0.1 notes per 10,000 healthy supervised reports. A slow rise is a warning when 15 % of the
    progress is lost, and critical at half (our choice).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose

from .kit import Evidence, Finding, LogEvent, Sentinel, Severity, Step, View
from .kit.loss.before_nan import step_by_rate
from .kit.loss.climb import SURE
from .kit.loss.collapse import KEY, collapsed, learnt_again
from .kit.loss.finite import Finiteness
from .kit.loss.gradients import Gradient
from .kit.loss.losses import Losses
from .kit.loss.scheduled import scheduled
from .kit.loss.scores import Scores
from .kit.loss.series import Jump
from .kit.numbers import number
from .kit.recovery import OpenIncident
from .kit.troubles import Troubles, said_in_old_log

CLASSES = ("loss_spike", "loss_diverged", "grad_spike")
DIGITS = 0.01
"""Values that differ by less are one that was written with fewer digits (our choice)."""
TWICE_S = 60.0
"""Seconds within which it is written again (our choice: some loggers write a block of reports)."""


SETTLED = 0.5
"""Part of an announced jump below which what is left of it is no divergence (our choice)."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_spike]`."""

    large_ratio: float = 0.5
    """Part of the progress so far that a jump which came back must have undone to be a warning in a
    finished log; smaller ones are a note."""
    told_reports: int = 60
    """Reports for which a jump that came back is still shown."""
    patience_reports: int = 30
    """Reports for which a jump must last to be critical; thirty at least, because most jumps that
    come back do so within thirty."""
    gross_reports: int = 2
    """The same for a jump out of all proportion."""
    rough_reports: int = 10
    """The same for a jump out of all proportion in adversarial or reinforcement learning: in
    healthy runs such jumps came back within seven reports."""
    accepted_reports: int = 1000
    """Reports after which a loss that stays high is not reported any more."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about jumps: in a live run about the newest, in a finished log about all."""
    yield from said_in_old_log(view, CLASSES)
    yield from collapsed(view)
    losses = view.accumulator(Losses)
    if losses is None:
        return
    told: list[Jump] = []
    for jump in losses.jumps:
        if jump.waits or (view.live and any(_same(jump, other) for other in told)):
            continue
        told.append(jump)
        if not view.live or _matters(jump, losses.count, limits):
            yield _finding(jump, view, limits)
    if losses.gradients and not (view.live and losses.gradient_reports > limits.told_reports):
        yield _gradient(losses.gradients, view)


def _gradient(gradients: list[Gradient], view: View) -> Finding:
    shown = gradients[-1] if view.live else gradients[0]
    mark = shown.mark
    at = "" if mark.step is None else f" at step {number(mark.step)}"
    return Finding(
        trouble="grad_spike",
        key="grad_norm",
        severity=Severity.INFO if view.live else Severity.WARNING,
        summary=f"the gradient norm was {number(mark.value)}{at}, usually {number(shown.usual)}",
        evidence=(Evidence("log", mark.text, mark.at),) if mark.text else (),
        file=shown.file,
        line=mark.line,
        details={"step": mark.step, "usual": shown.usual, "count": len(gradients)},
    )


def _same(jump: Jump, other: Jump) -> bool:
    """True for one jump that was read twice: a program may write a log of its own beside its output,
    with other digits, and without the steps that a bar shows."""
    if jump.file == other.file or jump.metric != other.metric:
        return False
    one, two = jump.onset, other.onset
    steps = one.step is None or two.step is None or one.step == two.step
    near = abs(one.at - two.at) <= TWICE_S and isclose(one.value, two.value, rel_tol=DIGITS)
    return steps and near


def _matters(jump: Jump, count: int, limits: Limits) -> bool:
    """True while a live run should still show it."""
    if jump.state == "back":
        return count - jump.over_at <= limits.told_reports
    return jump.reports <= limits.accepted_reports


def _pages(jump: Jump, limits: Limits) -> bool:
    """True for a jump out of all proportion that did not come back soon."""
    patience = limits.rough_reports if jump.rough else limits.gross_reports
    if jump.swept:
        patience = limits.patience_reports
    if _settles(jump):
        return False
    return jump.gross and jump.high >= patience


def _settles(jump: Jump) -> bool:
    """True for a jump that was announced, and of which more than half is gone: what is left is a new level, or is learnt yet."""
    return jump.swept and jump.undone < SETTLED * jump.lost


def _finding(jump: Jump, view: View, limits: Limits) -> Finding:
    over = view.ended or view.ending is not None
    # The very last report may be a sum over an epoch: a single one proves nothing.
    values = view.accumulator(Finiteness)
    proven = jump.reports > 1 or (values is not None and not values.quiet)
    stayed = (
        jump.state == "open" and jump.gross and over and proven and not jump.swept and jump.high
    )
    patient = jump.gross or jump.reports >= limits.patience_reports
    lasting = jump.state == "lasting" and patient and not _settles(jump)
    excused = _excused(jump, limits)
    # What wakes somebody is no spike, which one would wait for.
    wakes = view.live and jump.back is None and not jump.reset and _pages(jump, limits)
    diverged = (lasting and not excused) or stayed or jump.slow or wakes
    planned = scheduled(view.steps, jump.file, jump.onset.line) if jump.climbed else ""
    if planned:
        severity = Severity.INFO
    elif jump.slow:
        severity = _of_slow(jump, limits)
    elif jump.reset:
        severity = Severity.INFO  # loss_reset reports it
    elif jump.state == "back":
        severity = Severity.INFO
        large = jump.lost >= limits.large_ratio and not jump.planned
        if not view.live and (jump.gross or large):
            severity = Severity.WARNING
    elif stayed or _pages(jump, limits):
        severity = Severity.CRITICAL
    elif diverged:
        proven = jump.gross or jump.rated or jump.undone >= limits.large_ratio
        severity = Severity.CRITICAL if proven else Severity.WARNING
    else:
        quiet = view.live or not over or jump.planned or jump.swept
        severity = Severity.INFO if quiet else Severity.WARNING
    if jump.norms is not None:
        norm, usual = jump.norms
        details = {"grad_norm": norm, "usual_grad_norm": usual}
    else:
        details = {}
    verb = "has risen" if jump.slow else "jumped"
    name = "the loss" if jump.metric == "train_loss" else jump.metric
    began = "" if jump.onset.step is None else f" at step {number(jump.onset.step)}"
    came = f"{planned} changes with it" if planned else _became(jump, excused=excused)
    if jump.driven:
        summary = (
            f"{name} no longer falls from {number(jump.base)} while the learning rate climbs: "
            f"{number(jump.driven)} times its highest before{began}"
        )
    else:
        summary = f"{name} {verb} from {number(jump.base)} to {number(jump.top)}{began}; {came}"
    onset = jump.onset
    return Finding(
        trouble="loss_diverged" if diverged else "loss_spike",
        remedy=step_by_rate(view, onset.line, jump.file, onset.step) if diverged else "",
        key=f"{jump.metric}:{jump.number}",
        severity=severity,
        summary=summary,
        evidence=(Evidence("log", jump.onset.text, jump.onset.at),) if jump.onset.text else (),
        file=jump.file,
        line=jump.onset.line,
        decided_line=jump.decided.line,
        details={
            "step": jump.onset.step,
            "metric": jump.metric,
            "from": jump.base,
            "to": jump.top,
            "back_at_step": jump.back.step if jump.back else None,
            **details,
        },
    )


def _excused(jump: Jump, limits: Limits) -> bool:
    """True for a jump that is planned by the schedule or usual in this run, and not too high; and in
    adversarial training for all that is not gross."""
    if jump.rough and not jump.gross:
        return True
    return (jump.planned or jump.usual) and not (jump.gross or jump.undone >= limits.large_ratio)


def _of_slow(jump: Jump, limits: Limits) -> Severity:
    """A slow rise is a note until the evaluation loss, or a later look, agrees."""
    if not jump.agreed or jump.state == "back" or _excused(jump, limits):
        return Severity.INFO
    sure = jump.driven > 0.0 or jump.climbed >= SURE or jump.lost >= limits.large_ratio
    return Severity.CRITICAL if sure else Severity.WARNING


def _became(jump: Jump, *, excused: bool) -> str:
    if jump.back is not None:
        step = "" if jump.back.step is None else f" by step {number(jump.back.step)}"
        return f"it came back{step}"
    if jump.reset:
        return "it begins again"
    if excused:
        why = "the learning rate has started over" if jump.planned else "such jumps came back"
        if jump.rough:
            return f"{jump.reports} reports later it is still up"
        return f"{why}, so this one may come back"
    if jump.state == "lasting":
        return "it does not come back"
    return f"{jump.reports} reports later it is still up" if jump.reports else "it may come back"


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the loss, the gradient norm, or a score is back."""
    if case.key.startswith(KEY):
        return learnt_again(view, case)
    losses = view.accumulator(Losses)
    if losses is None:
        return ""
    if case.key == "grad_norm":
        calm = losses.gradient_reports > limits.told_reports
        return f"it was usual in the last {losses.gradient_reports} reports" if calm else ""
    for jump in losses.jumps:
        if case.key == f"{jump.metric}:{jump.number}" and jump.back is not None:
            step = "" if jump.back.step is None else f" at step {number(jump.back.step)}"
            return f"it came back to {number(jump.back.value)}{step}"
    return ""


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(Step, LogEvent),
    accumulators=(
        Troubles,
        Losses,
        Scores,
    ),
    recovered=recovered,
)
