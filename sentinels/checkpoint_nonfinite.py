"""The files of a checkpoint are whole, but its weights are NaN or infinite.

Decides: The verifier read every floating-point tensor of a checkpoint that is no longer written.
    The newest checkpoint is critical, because a restart would begin there (weights of the best
    model alone, or an adapter, saved after it do not replace it); an older one is a warning. If the
    training loss was NaN or infinite before that save, the finding says so and belongs to the same
    incident; broken weights under a healthy loss are an incident of their own.
Classes: ckpt_nonfinite
Sources: torch.load and safetensors read NaN without an error, and a trainer goes on saving it.
    Masks of 0 and -inf, and infinite values that are not weights, are no fault: the verifier leaves
    them out. Our choice: resolved after ten minutes, because a file that is always overwritten in
    place is verified only now and then, and must not cause a push each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .kit import CheckpointSeen, Evidence, Finding, Sentinel, Severity, View
from .kit.accumulator import LoggedValue
from .kit.loss.finite import Finiteness
from .kit.numbers import number, short_path
from .kit.recovery import OpenIncident, gone_or_good
from .kit.saves.damage import Damage, is_nonfinite
from .kit.saves.siblings import is_newest, last_good

_READ = ("finite", "load")
"""Levels at which the numbers were read."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.checkpoint_nonfinite]`."""

    told: int = 4
    """Saves that are reported one by one, the newest first; further ones would say the same."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Findings about saves whose weights were read and are not finite."""
    damage = view.accumulator(Damage)
    if not view.live or damage is None or not damage.found:
        return
    by_time = sorted(view.checkpoints, key=lambda c: (c.saved_at, c.path), reverse=True)
    bad = [c for c in by_time if is_nonfinite(c)]
    if not bad:
        return
    since = _loss_lost(view)
    fit = _worth_naming(by_time, since)
    read = [c for c in by_time if c.state == "ok" and c.level in _READ]
    for seen in bad[: limits.told]:
        good = last_good(seen, fit)
        over = not is_newest(seen, [c for c in by_time if c is seen or c in read])
        yield _not_finite(seen, good, since, newest=is_newest(seen, by_time), over=over)


def _worth_naming(
    newest_first: Sequence[CheckpointSeen], since: LoggedValue | None
) -> list[CheckpointSeen]:
    """Good saves that may be recommended: those whose weights were read, if there are any.

    Without one, saves whose weights were not read yet, but only those made before the loss became
    NaN or infinite (``since``).
    """
    good = [c for c in newest_first if c.state == "ok"]
    read = [c for c in good if c.level in _READ]
    return read or [c for c in good if since is None or not _is_after(c, since)]


def _loss_lost(view: View) -> LoggedValue | None:
    """The first report without a finite training loss, if there was one."""
    values = view.accumulator(Finiteness)
    if values is None or values.quiet:
        return None
    ended = values.ended("train_loss")
    streaks = values.lasting("train_loss") or ([ended] if ended is not None else [])
    return streaks[0].first if streaks else None


def _not_finite(
    seen: CheckpointSeen,
    good: CheckpointSeen | None,
    since: LoggedValue | None,
    *,
    newest: bool,
    over: bool,
) -> Finding:
    which = "the newest checkpoint" if newest else "an older checkpoint"
    after = since is not None and _is_after(seen, since)
    why = f": {seen.detail[:140]}" if seen.detail else ""
    lost = ""
    if since is not None and after:
        lost = f"; saved after the loss was {since.value:g}{_at_step(since.step)}"
    if good is None:
        resume = "no finite one is on disk"
        remedy = "delete no checkpoint: none on disk is finite; look for an earlier copy elsewhere"
    else:
        read = good.level in _READ
        kind = "the last finite one" if read else "the last whole one (its weights not read yet)"
        resume = f"{kind} is {short_path(good.path)}{_at_step(good.step)}"
        remedy = f"keep {good.path} from deletion: `middlewatch resume` would start from it"
    return Finding(
        trouble="ckpt_nonfinite",
        key=seen.path,
        severity=Severity.CRITICAL if newest else Severity.WARNING,
        summary=f"{which}, {short_path(seen.path)}{_at_step(seen.step)}, is not finite{why}{lost}; {resume}",
        evidence=(
            Evidence("checkpoint", f"{seen.path}: {seen.detail or 'not finite'}", seen.saved_at),
            *(
                (Evidence("checkpoint", f"would resume: {good.path}", good.saved_at),)
                if good
                else ()
            ),
            *((Evidence("log", since.text, since.at),) if since and after and since.text else ()),
        ),
        remedy=remedy,
        details={
            "path": seen.path,
            "step": seen.step,
            "newest": newest,
            "over": over,
            "finite": good.path if good else None,
            "finite_step": good.step if good else None,
            "after_loss": after,
        },
    )


def _is_after(seen: CheckpointSeen, since: LoggedValue) -> bool:
    if seen.step is not None and since.step is not None:
        return seen.step >= since.step
    return seen.saved_at >= since.at


def _at_step(step: float | None) -> str:
    return "" if step is None else f" (step {number(step)})"


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once the save is finite or gone."""
    return gone_or_good(view, case.key)


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(CheckpointSeen,),
    every_tick=True,
    clears_after_s=600.0,
    accumulators=(Damage,),
    also_reads=(Finiteness,),
    recovered=recovered,
)
