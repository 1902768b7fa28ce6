"""How one jump of a loss compares with others of its run, and with the progress that was made."""

from __future__ import annotations

from .series import Jump, LossSeries

FROM, TO = 10, 30
"""The median of the reports 10 to 30 after a jump decides whether it lasts. Measured on real
curves: a spike that comes back has come back by then."""
LITTLE = 0.1
"""Progress below this part of the level is too little to measure a jump by."""
STILL_UP = 2.0
"""A loss more than this many spreads above the old level is still up."""
HIGHER = 1.5
LONGER = 2.0
"""A usual jump may be this many times as high, and last this many times as long, as those."""


def alike(before: Jump, jump: Jump) -> bool:
    """True for an earlier jump of this loss that came back and was not much smaller."""
    same = before.file == jump.file and before.metric == jump.metric
    height = max(before.lost, before.undone)
    return same and before.back is not None and HIGHER * height >= jump.lost


def further(jump: Jump, base: float, top: float) -> bool:
    """True when a jump lasts, its level has become the usual one (``base``), and the loss rises once more by
    at least as much."""
    risen = base - jump.base
    return jump.reports >= TO and risen > STILL_UP * jump.spread and top - base >= risen


def higher(before: Jump, jump: Jump) -> bool:
    """True for an earlier jump of this loss that came back and was higher, by the progress and the noise
    of its time."""
    same = before.file == jump.file and before.metric == jump.metric
    if before is jump or before.back is None or not same:
        return False
    height = max(before.lost, before.undone)
    return height >= jump.lost and before.spreads >= jump.spreads


def progress_of(series: LossSeries, base: float) -> float:
    """How far the loss had come down to ``base``. If that is little, as in an excerpt of a log
    without its beginning, the level itself."""
    start = series.guard.start
    progress = 0.0 if start is None else start - base
    if progress < LITTLE * abs(base):
        progress = abs(base)
    return progress if progress > 0.0 else 1.0
