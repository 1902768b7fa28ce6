"""The metrics of a run as rows: what the daemon keeps of them, and those of its logs with their times. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from middlewatch.sentinels.kit import Step

from ..judge.curve import TIME
from ..judge.history import RunHistory

Mark = tuple[float, float]
"""(step, epoch seconds)."""


@dataclass(slots=True)
class MetricRow:
    """One report. ``at``: epoch seconds at which it was seen; ``None``: not known. ``about``: the time is
    that of the pace between two known ones."""

    step: float | None
    values: dict[str, float] = field(default_factory=dict)
    epoch: float | None = None
    at: float | None = None
    about: bool = False


def kept(history: RunHistory) -> dict[str, Any]:
    """What the daemon keeps, for the question ``metrics``: the newest reports (512 at most), the curves
    of the whole run, and the times of its steps."""
    times = {step: at for at, step in history.step_times}
    early = history.curves.get(TIME)
    marks = dict(early.points if early else ()) | times
    return {
        "rows": [
            {"at": one.at, "step": one.number, "epoch": one.epoch, "values": dict(one.values)}
            for one in history.steps
            if not one.rank
        ],
        "curves": {
            name: [list(point) for point in curve.points]
            for name, curve in history.curves.items()
            if name != TIME
        },
        "times": [list(mark) for mark in sorted(marks.items())],
    }


def of_kept(answer: dict[str, Any]) -> list[MetricRow]:
    """Rows from that answer: points of the curves, and from where they are kept the reports themselves."""
    newest = [
        MetricRow(one["step"], _floats(one["values"]), one["epoch"], one["at"])
        for one in answer["rows"]
    ]
    first = next((row.step for row in newest if row.step is not None), None)
    early: dict[float, MetricRow] = {}
    for name, points in answer["curves"].items():
        for step, value in points:
            if first is None or step < first:
                early.setdefault(step, MetricRow(step)).values[name] = float(value)
    return [*(early[step] for step in sorted(early)), *newest]


def of_steps(steps: Iterable[Step]) -> list[MetricRow]:
    """Rows from the reports of a log: reports of one step in a row are one row."""
    rows: list[MetricRow] = []
    for one in steps:
        if one.rank:
            continue
        last = rows[-1] if rows else None
        same = last is not None and one.number is not None and last.step == one.number
        if last is not None and same and not set(last.values) & set(one.values):
            last.values.update(one.values)
            continue
        rows.append(MetricRow(one.number, dict(one.values), one.epoch))
    return rows


def timed(rows: Sequence[MetricRow], marks: Sequence[Mark]) -> None:
    """Give rows without a time the time of their step. What a restart has made again has none: its steps
    were seen twice, and the later time is the one that is known. ``marks``: by step, ascending."""
    known = dict(marks)
    steps = [step for step, _ in marks]
    lowest = float("inf")
    for row in reversed(rows):
        if row.step is None or row.step >= lowest:
            continue
        lowest = row.step
        if row.at is None:
            row.at = known.get(row.step)
            if row.at is None:
                row.at = _between(row.step, steps, marks)
                row.about = row.at is not None


def _between(step: float, steps: Sequence[float], marks: Sequence[Mark]) -> float | None:
    place = bisect_left(steps, step)
    if not 0 < place < len(marks):
        return None
    (low, begun), (high, ended) = marks[place - 1], marks[place]
    return begun + (ended - begun) * (step - low) / (high - low)


def within(
    rows: Iterable[MetricRow],
    since: float | None,
    first: float | None,
    last: float | None,
) -> Iterator[MetricRow]:
    """The rows of a window: seen at ``since`` or later, with steps from ``first`` to ``last``. A row without
    a time is outside of a window of time; one without a step outside of a window of steps."""
    for row in rows:
        if since is not None and (row.at is None or row.at < since):
            continue
        bounded = first is not None or last is not None
        if bounded and row.step is None:
            continue
        if row.step is not None and first is not None and row.step < first:
            continue
        if row.step is not None and last is not None and row.step > last:
            continue
        yield row


def names(rows: Iterable[MetricRow]) -> list[str]:
    """The metrics that occur, the losses first."""
    found = {name for row in rows for name in row.values}
    return sorted(found, key=lambda name: (not name.endswith("loss"), name != "train_loss", name))


def _floats(values: dict[str, Any]) -> dict[str, float]:
    """Numbers that are not finite are texts in JSON."""
    return {name: float(value) for name, value in values.items()}
