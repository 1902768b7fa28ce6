"""The loss scaler skips one step after another.

Decides: Skipped steps in a row in the middle of the run are a warning. A scaler that says that it
    gave up, or a loss scale that stays at its minimum, is critical. Skips at the start and single
    ones later are normal for a scaler: a note in a finished log, nothing in a live run.
Classes: overflow_skip loss_scale_exhausted
Sources: Scalers begin at 2^16 (PyTorch, apex) or 2^32 (Megatron, DeepSpeed), halve the scale until
    no overflow occurs, and try a larger one every 1,000 to 2,000 steps. DeepSpeed and Megatron stop
    at a scale of 1, fairseq at 1e-4. Our choice: ten reports at a scale of 1 or less that was
    sixteen times higher before, and four reports of skipped steps in a row after the first fifty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, LogEvent, Sentinel, Severity, Step, View
from .kit.accumulator import LoggedValue
from .kit.loss.scaling import Scaling, Skip
from .kit.numbers import number
from .kit.recovery import OpenIncident
from .kit.troubles import Troubles


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.loss_scale]`."""

    calm_steps: int = 100
    """Steps without a skip after which skips of a live run are not reported any more."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about skips that are not normal for a scaler, and about a scaler that gave up."""
    said = [e for e in view.events if e.trouble == "loss_scale_exhausted" and e.severity != "info"]
    if said and not (view.live and view.went_on_after(said[-1])):
        yield _gave_up(said[0], view.went_on_after(said[-1]), said[0].text.strip()[:160])
    skips = view.accumulator(Scaling)
    if skips is None:
        return
    yield from _reported(skips, view, told=bool(said))
    if view.live and skips.steps_since > limits.calm_steps:
        return
    if skips.gone is not None and not said:
        text = f"{skips.in_a_row or skips.count} steps skipped in a row, no loss scale is left"
        yield _gave_up(skips.gone.event, skips.steps_since > 1, text)
    first = skips.burst or skips.small
    if first is not None:
        yield _skipped(first, skips, Severity.WARNING)
    elif skips.first is not None and not view.live:
        yield _skipped(skips.first, skips, Severity.INFO)


def _reported(skips: Scaling, view: View, *, told: bool) -> Iterator[Finding]:
    """Findings from the numbers in the reports, where no line of the scaler said the same."""
    if skips.bottom is not None and skips.gone is None and not told:
        yield _at_the_bottom(skips.bottom, skips)
    if skips.spell is not None and not skips.count and (skips.skipped or not view.live):
        yield _spell(skips.spell, skips)


def _gave_up(event: LogEvent, overcome: bool, text: str) -> Finding:
    return Finding(
        trouble="loss_scale_exhausted",
        key="loss_scale",
        severity=Severity.WARNING if overcome else Severity.CRITICAL,
        fatal=not overcome,
        summary=text,
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        details={**event.details, "rank": event.rank},
    )


def _at_the_bottom(first: LoggedValue, skips: Scaling) -> Finding:
    since = "" if first.step is None else f" since step {number(first.step)}"
    decided = skips.bottom_decided or first
    return Finding(
        trouble="loss_scale_exhausted",
        key="loss_scale",
        severity=Severity.CRITICAL,
        summary=f"the loss scale stays at its minimum of {number(first.value)}{since}",
        file=skips.file,
        line=first.line,
        decided_line=decided.line,
        details={"step": first.step, "loss_scale": first.value},
    )


def _spell(first: LoggedValue, skips: Scaling) -> Finding:
    since = "" if first.step is None else f" since step {number(first.step)}"
    return Finding(
        trouble="overflow_skip",
        key="skips",
        severity=Severity.WARNING,
        summary=f"each report says that the loss scaler skipped steps{since}",
        file=skips.file,
        line=first.line,
        details={"step": first.step, "count": skips.skipped},
    )


def _skipped(first: Skip, skips: Scaling, severity: Severity) -> Finding:
    newest = skips.newest[-1]
    scale = "" if newest.scale is None else f"; the loss scale is {number(newest.scale)}"
    since = "" if first.step is None else f" since step {number(first.step)}"
    return Finding(
        trouble="overflow_skip",
        key="skips",
        severity=severity,
        summary=f"the loss scaler skipped {skips.count} steps{since}{scale}",
        evidence=(Evidence("log", first.event.text, first.event.at),),
        file=first.event.file,
        line=first.event.line,
        details={"count": skips.count, "loss_scale": newest.scale, "step": first.step},
    )


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once no step was skipped for a while."""
    skips = view.accumulator(Scaling)
    if skips is None or skips.bottom is not None or skips.spell is not None:
        return ""
    if skips.steps_since <= limits.calm_steps:
        return ""
    return f"no step was skipped in the last {skips.steps_since}"


SENTINEL = Sentinel(
    check, Limits(), on=(Step, LogEvent), accumulators=(Scaling, Troubles), recovered=recovered
)
