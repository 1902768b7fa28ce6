"""Two programs that write one log, epoch after epoch, and one that begins again."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.loss.counters import EpochCounters

from ..story import Story


def whose(epochs: list[int]) -> str:
    """One letter a report: of ours, of the other, anew."""
    counters, newest, told = EpochCounters(), 0.0, ""
    for epoch in epochs:
        said = counters.take(float(epoch), first=epoch <= 1 < newest)
        newest = newest if said == "other" else float(epoch)
        told += said[1]
    return told.translate(str.maketrans("utn", "uon"))


@pytest.mark.parametrize(
    ("epochs", "told"),
    [
        ([1, 2, 3, 4], "uuuu"),
        ([5, 10, 15, 20], "uuuu"),
        ([6, 7, 1, 8, 2, 9, 3, 10], "uuououou"),  # two at a time
        ([6, 7, 1, 2, 8, 3, 9, 4], "uuoououo"),
        ([6, 7, 1, 2, 3, 4, 5], "uuooonu"),  # the next job, alone
        ([6, 7, 5, 6, 7], "uuuuu"),  # a resume is no beginning
    ],
)
def test_reports_of_two_counters(epochs: list[int], told: str) -> None:
    assert whose(epochs) == told


def test_two_candidates_at_a_time_wake_nobody(story: Story) -> None:
    """Each falls from 0.45 to 0.05, the second begins when the first is half through, again and again."""
    for turn in range(6):
        for n in range(8):
            for epoch in (9 + n, 1 + n) if turn else (1 + n,):
                story.step(number=None, epoch=epoch, train_loss=0.05 + 0.4 / epoch)
    assert [f for f in story.asks("loss_reset") if f.severity is not Severity.INFO] == []
    assert [f for f in story.asks("loss_spike") if f.severity is not Severity.INFO] == []
