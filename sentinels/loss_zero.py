"""The training loss is exactly zero, too low to be true, or missing from the log.

Decides: A loss of 0.0 in several reports in a row is a warning, and so are two of the first reports if the
    gradient norm has vanished with it; if it had fallen close to zero
    before, it may be rounded, and with an accuracy of 100 % nothing is left to lose: a note. A loss
    that falls to almost nothing in its first reports is a note, because it may be a label leak or
    easy data; a warning if the evaluation loss is at twice its best meanwhile. A later sudden fall is a warning, if the loss had been at a stable level before; when
    samples are memorised, it falls steadily. Reports without the loss that they used to have are a
    warning, unless they say that their steps were skipped.
Classes: loss_zero loss_missing
Sources: Our choice: three reports in a row, so that one batch without labels does not count; below
    a twentieth of the first loss it may be rounded; a leak is a fiftieth within fifty reports.
    Megatron-LM prints a loss only if its mean is above zero, which NaN is not (`training_log`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from .kit import Finding, LogEvent, Sentinel, Severity, Step, View
from .kit.loss.evaluations import Evaluations
from .kit.loss.losses import Losses
from .kit.loss.missing_loss import Missing
from .kit.loss.series import Leak
from .kit.loss.zeros import Zeros
from .kit.numbers import number
from .kit.recovery import OpenIncident, values_since
from .kit.troubles import Troubles, said_in_old_log

IN_WORDS = ("loss_zero",)
"""Classes that a single line proves; a missing loss (``null``) must come several times in a row."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_zero]`."""

    in_a_row: int = 3
    """Reports of exactly zero in a row before it is reported; three at least."""
    learnt_ratio: float = 0.05
    """Part of the first level below which a loss may have been rounded to zero."""
    unlearnt_times: float = 2.0
    """Multiple of its best from which the evaluation loss shows that such a loss is worth nothing."""
    told_reports: int = 500
    """Reports for which a suspiciously low loss of a live run is shown."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings while the loss is zero or missing; in a finished log also if it came back."""
    yield from said_in_old_log(view, IN_WORDS)
    losses = view.accumulator(Losses)
    if losses is None:
        return
    shown = set()
    for zeros in losses.zeros:
        if (zeros.agreed or zeros.count >= limits.in_a_row) and not (view.live and zeros.over):
            key = f"zero:{zeros.metric}"
            if key not in shown:
                shown.add(key)
                yield _zero(zeros, key, limits)
    for leak in losses.leaks:
        old = losses.count - leak.count > limits.told_reports
        if not losses.zeros and not (view.live and old):
            yield _leak(leak, _unlearnt(view, limits))
    for missing in losses.missing:
        if not missing.skipped and not (missing.over and (view.live or missing.count < 3)):
            if missing.count < 3 and not missing.scaled:
                continue
            yield _missing(missing)
            return


def _zero(zeros: Zeros, key: str, limits: Limits) -> Finding:
    rounded = bool(
        zeros.before and zeros.began and abs(zeros.before) < limits.learnt_ratio * zeros.began
    )
    since = "" if zeros.first.step is None else f" since step {number(zeros.first.step)}"
    first = zeros.first.value
    size = f"almost zero ({number(first)})" if first else "exactly zero"
    return Finding(
        trouble="loss_zero",
        key=key,
        severity=Severity.INFO if rounded or zeros.all_right else Severity.WARNING,
        summary=f"the loss is {size}{since} ({zeros.count} reports)"
        + (", with an accuracy of 100%" if zeros.all_right else ""),
        file=zeros.file,
        line=zeros.first.line,
        decided_line=zeros.decided.line,
        details={"step": zeros.first.step, "before": zeros.before, "count": zeros.count},
    )


def _unlearnt(view: View, limits: Limits) -> str:
    """What has become of the evaluation meanwhile, if it is much worse than it was."""
    seen = view.accumulator(Evaluations)
    best, now = (seen.best, seen.now) if seen is not None else (None, None)
    if best is None or now is None or not 0.0 < limits.unlearnt_times * best.value <= now:
        return ""
    return (
        f", while the evaluation loss rose from {number(best.value)} to {number(now)}: "
        "its samples may have lost their content"
    )


def _leak(leak: Leak, unlearnt: str) -> Finding:
    mark = leak.mark
    how = "suddenly fell" if leak.sudden else "fell"
    at = "" if mark.step is None else f" by step {number(mark.step)}"
    return Finding(
        trouble="loss_zero",
        key=f"leak:{leak.metric}",
        severity=Severity.WARNING if leak.sudden or unlearnt else Severity.INFO,
        summary=f"the loss {how} from {number(leak.began)} to {number(mark.value)}{at}"
        + (unlearnt or ": a label may leak into the input"),
        file=leak.file,
        line=mark.line,
        details={"kind": "leak", "step": mark.step, "from": leak.began, "to": mark.value},
    )


def _missing(missing: Missing) -> Finding:
    since = "" if missing.first.step is None else f" since step {number(missing.first.step)}"
    return Finding(
        trouble="loss_missing",
        key="missing",
        severity=Severity.WARNING,
        summary=f"reports come without a loss{since}: it may be NaN",
        file=missing.file,
        line=missing.first.line,
        decided_line=missing.last.line if missing.count < 3 else missing.first.line,
        details={"step": missing.first.step, "count": missing.count},
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once there is a loss above zero again; never for a loss that fell too low."""
    if case.key.startswith("leak:"):
        return ""
    metric = case.key.removeprefix("zero:") if case.key.startswith("zero:") else "train_loss"
    values = values_since(view, metric, case.quiet_since)[: limits.in_a_row]
    if len(values) < limits.in_a_row or not all(value and isfinite(value) for value in values):
        return ""
    return f"the loss is {number(values[0])} again"


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(Step, LogEvent),
    accumulators=(
        Troubles,
        Losses,
        Evaluations,
    ),
    recovered=recovered,
)
