"""A checkpoint is whole on disk, and what it holds is NaN or infinite.

Decides: by what the verifier read: every floating tensor of a save, once it stood still. The newest
    save wakes a person, because a restart would begin there (the best weights alone or an adapter,
    saved after it, do not take its place), an older one is a warning. Where the
    training loss had stopped being a number before that save, this is said, and the two are one
    trouble; weights that are broken under a healthy loss are a trouble of their own.
Classes: ckpt_nonfinite
Sources: torch.load and safetensors read NaN without a word, and a trainer goes on saving them.
    Masks of 0 and -inf, and infinite numbers that are no weights, are no fault: the verifier leaves
    them out. Our choice: over after ten minutes, because a file that is always written in place is
    judged only now and then, and must not wake anybody each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .kit import CheckpointSeen, Evidence, Finding, Sentinel, Severity, View
from .kit.accumulator import LoggedValue
from .kit.loss.finite import Finiteness
from .kit.numbers import number, short_path
from .kit.saves.damage import Damage, is_nonfinite
from .kit.saves.siblings import is_newest, last_good

_READ = ("finite", "load")
"""Levels at which the numbers were read."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.checkpoint_nonfinite]`."""

    told: int = 4
    """Saves that are told one by one, the newest first: after the first all say the same."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """Speak about every save whose numbers were read and are not finite."""
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
    """Good saves that can be advised here: those whose numbers were read, if there are any.

    One whose numbers were not read yet is no advice after saves of NaN, and least of all when it
    was made after the loss had stopped being a number.
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
        remedy = "let nothing be deleted: no finite checkpoint is on disk, look for an earlier copy"
    else:
        read = good.level in _READ
        kind = "the last finite one" if read else "the last whole one, its numbers not read yet,"
        resume = f"{kind} is {short_path(good.path)}{_at_step(good.step)}"
        remedy = f"keep {good.path} from deletion: `middlewatch resume` would take it"
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


SENTINEL = Sentinel(
    check,
    Limits(),
    on=(CheckpointSeen,),
    every_tick=True,
    clears_after_s=600.0,
    accumulators=(Damage,),
    also_reads=(Finiteness,),
)
