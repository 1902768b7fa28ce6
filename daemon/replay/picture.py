"""The curve in a replay report: the loss over the steps, with marks for restarts and troubles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.numbers import number

from ..text.curve import EVALUATED, GUTTER, AxisMark, curve
from ..text.plot import BROKEN, Point
from ..text.rows import Row, Span, cut, row
from .story import Story
from .subject import Subject, grouped

HEIGHT, LOW = 8, 5
"""Rows of the curve for a single log, and for each of many logs."""


def picture(subject: Subject, width: int) -> list[Row]:
    """Curve, axis and legend; nothing where there are too few numbers to draw."""
    story = subject.story
    names = [n for n in ("train_loss", *story.curves) if n in story.curves and n != "eval_loss"]
    name, train, evaluated = "eval_loss", story.points("eval_loss"), []
    if names:
        name, train, evaluated = names[0], story.points(names[0]), train
    marks = _marks(subject)
    ends = _ends(story, [x for x, _ in (*train, *evaluated) if math.isfinite(x)])
    drawn = curve(train, evaluated, marks, ends, width, LOW if subject.one_of_many else HEIGHT)
    if not drawn:
        return []
    legend = "   ".join(_legend(name, train, evaluated, marks))
    return [*drawn, row(Span(cut(" " * GUTTER + legend, width), "dim"))]


def _marks(subject: Subject) -> list[AxisMark]:
    """Marks of restarts and troubles, the worst last: later marks cover earlier ones."""
    marks = [AxisMark(restart.x, "↺", "warn") for restart in subject.story.restarts]
    troubles = [
        trouble for trouble, _ in subject.troubles if trouble.newest.severity >= Severity.WARNING
    ]
    for trouble in sorted(troubles, key=lambda t: (t.newest.fatal, t.newest.severity)):
        x = subject.story.x_of(trouble.first.line)
        if x is not None:
            sign = AxisMark(x, "✗", "bad") if trouble.newest.fatal else AxisMark(x, "!", "warn")
            marks.append(sign)
    return marks


def _ends(story: Story, xs: Sequence[float]) -> tuple[str, str]:
    """Labels below both ends of the x axis."""
    if not xs:
        return "", ""
    if story.wrapped:
        return "", "the end" if story.epoch is None else f"epoch {number(story.epoch)}"
    unit = "step" if story.first is not None else "report" if story.epoch is None else "epoch"
    return f"{unit} {grouped(min(xs))}", f"{unit} {grouped(max(xs))}"


def _legend(
    name: str, train: Sequence[Point], evaluated: Sequence[Point], marks: Sequence[AxisMark]
) -> list[str]:
    finite = [y for _, y in train if math.isfinite(y)]
    parts = []
    if finite:
        parts.append(f"{name} {finite[0]:.4g} → {finite[-1]:.4g}, lowest {min(finite):.4g}")
    if len(finite) < len(train):
        parts.append(f"{BROKEN} not a number")
    if evaluated:
        parts.append(f"{EVALUATED} eval_loss {evaluated[-1][1]:.4g}")
    signs = {mark.sign for mark in marks}
    shown = [sign for sign in ("✗", "!") if sign in signs]
    if shown:
        parts.append(f"{' '.join(shown)} trouble")
    if "↺" in signs:
        parts.append("↺ restart")
    return parts
