"""What a climb of a loss becomes: a slow rise that needs no further look."""

from __future__ import annotations

from .climb import SURE, Climbed
from .jumps import Jumps
from .likeness import STILL_UP, progress_of
from .series import LossSeries


def climbed(jumps: Jumps, file: str, series: LossSeries, climb: Climbed) -> None:
    """Tell of a climb as of a slow rise that needs no further look, unless something else explains it."""
    if series.jump or series.reset or series.resumed is not None or series.begins_stage():
        return
    rates = series.rates
    if rates.started_over() or (rates.rose and climb.times < SURE):
        return
    now = series.newest[-1]
    slow = series.slow
    if slow is None:
        spread = (climb.times - 1.0) * climb.base / STILL_UP  # back with half of the way
        slow = series.slow = jumps.begin(file, series, climb.onset, climb.base, spread)
        slow.slow = True
    slow.waits, slow.decided = (0, now) if slow.waits else (0, slow.decided)
    slow.climbed = max(slow.climbed, climb.times)
    slow.top = max(slow.top, now.value)
    slow.lost = max(slow.lost, (now.value - climb.base) / progress_of(series, climb.base))
    slow.state, slow.agreed = "lasting", True
