"""The curve of a run and of the attempts that it continues, as one. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from middlewatch.daemon.text.plot import Point

from . import answer, run_rows
from .answer import Answer

MOST = 64
"""Attempts that are joined, the newest: as many as a terminal could mark apart. Our choice."""
GONE_BACK = 2
"""Points that are done again: what tells a restart within one log from a value that came late. Our choice."""


@dataclass(frozen=True, slots=True)
class Stitched:
    """One curve of several attempts."""

    points: list[Point]
    """(step, loss), by step. What an attempt did beyond the step at which the next one began was lost with it,
    and is not on the curve."""
    begins: list[float]
    """The first known step of each attempt but the oldest; a run that went back in its own log counts too."""

    @property
    def attempts(self) -> int:
        """How many are joined."""
        return len(self.begins) + 1


def stitched(run: Answer, known: Sequence[Answer]) -> Stitched:
    """The curve of ``run`` with those of the runs that it continues (``resumed_from``), as far as the box
    knows them. A run whose curve is of another metric ends the chain: its values have another scale."""
    chain = _chain(run, {answer.text(one, "run"): one for one in known})
    points, begins = list[Point](), list[float]()
    for one in chain:
        told = [p for p in run_rows.points_of(one) if math.isfinite(p[0])]
        new = bool(points)
        for x, y in told:
            gone = len(points)
            while points and points[-1][0] >= x:
                points.pop()
            # One value that came late is no attempt; two that were done before are done again.
            if new or gone - len(points) >= GONE_BACK:
                begins = [*(b for b in begins if b < x), x]
            new = False
            points.append((x, y))
    return Stitched(points, begins)


def _chain(run: Answer, known: dict[str, Answer]) -> list[Answer]:
    """The run and those before it, the oldest first."""
    metric = answer.text(answer.record(run, "curve"), "metric")
    chain, names = [run], {answer.text(run, "run")}
    while len(chain) < MOST:
        before = known.get(answer.text(chain[0], "resumed_from"))
        if before is None or answer.text(before, "run") in names:
            break
        if answer.text(answer.record(before, "curve"), "metric") not in ("", metric):
            break
        names.add(answer.text(before, "run"))
        chain.insert(0, before)
    return chain
