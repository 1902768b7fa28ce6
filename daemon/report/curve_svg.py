"""The loss of a run as SVG text, with the steps of its incidents marked; for pages that open from disk."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from middlewatch.sentinels.kit.numbers import number

from .picture import LOG_FROM

WIDTH, HEIGHT = 960, 300
"""Units of the drawing; it is scaled to the page."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 12, 14, 28
_LARGEST = 1e300
"""Larger values are drawn as this one: the difference of two has to be a number."""


class Mark(NamedTuple):
    """Something that happened at a step; the words are clean."""

    step: float
    words: str
    severity: str


def draw(points: Sequence[tuple[float, float]], marks: Sequence[Mark]) -> str:
    """The drawing of (step, value) points, or an empty text for fewer than two finite values. The axis is
    logarithmic as in :mod:`.picture`."""
    points = sorted((s, v) for s, v in points if math.isfinite(s))
    finite = [min(max(v, -_LARGEST), _LARGEST) for _, v in points if math.isfinite(v)]
    if len(finite) < 2:
        return ""
    low, high = min(finite), max(finite)
    logarithmic = low > 0 and high / low >= LOG_FROM
    scale = math.log if logarithmic else float
    first, last = points[0][0], points[-1][0]
    bottom, room = scale(low), scale(high) - scale(low)
    width, height = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

    def x_of(step: float) -> float:
        return round(_LEFT + (step - first) / ((last - first) or 1.0) * width, 1)

    def y_of(value: float) -> float:
        value = min(max(value, -_LARGEST), _LARGEST)
        return round(_TOP + height - (scale(value) - bottom) / (room or 1.0) * height, 1)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="loss by step">']
    for part in range(5):
        y = _TOP + height * part / 4
        value = bottom + room * (4 - part) / 4
        label = number(math.exp(value) if logarithmic else value)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:g}H{WIDTH - _RIGHT}"/>')
        parts.append(f'<text class="end" x="{_LEFT - 8}" y="{y + 4:g}">{html.escape(label)}</text>')
    axis = "step" + (", logarithmic loss" if logarithmic else "")
    parts.append(f'<text x="{_LEFT}" y="{HEIGHT - 8}">{number(first)}</text>')
    parts.append(
        f'<text class="end" x="{WIDTH - _RIGHT}" y="{HEIGHT - 8}">{axis} {number(last)}</text>'
    )
    for mark in marks:
        if first <= mark.step <= last:
            x = x_of(mark.step)
            words = html.escape(f"step {number(mark.step)}: {mark.words}")
            parts.append(
                f'<path class="mark {html.escape(mark.severity, quote=True)}" d="M{x:g} {_TOP}V{_TOP + height}"><title>{words}</title></path>'
            )
    path, begun = [], False
    for step, value in points:
        if not math.isfinite(value):
            parts.append(
                f'<rect class="broken" x="{x_of(step) - 2:g}" y="{_TOP - 6}" width="4" height="10"><title>not finite</title></rect>'
            )
            begun = False
            continue
        path.append(f"{'L' if begun else 'M'}{x_of(step):g} {y_of(value):g}")
        begun = True
    parts.append(f'<path class="curve" d="{"".join(path)}"/></svg>')
    return "".join(parts)
