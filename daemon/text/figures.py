"""Numbers and times as short text. Pure; ``None`` is always ``–``, never 0.

Times are coarse on purpose: while nothing happens the text of a screen should not change, so that
nothing has to be sent over a slow connection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

UNKNOWN = "–"


def metric(value: float | None) -> str:
    """A loss, a learning rate, a norm: ``2.3100``, ``1,204.5``, ``3.00e-04``, ``nan``."""
    if value is None:
        return UNKNOWN
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size == 0:
        return "0"
    if 0.01 <= size < 100:
        return f"{value:.4f}"
    return f"{value:,.1f}" if 100 <= size < 100_000 else f"{value:.2e}"


def count(value: float | None) -> str:
    """A step or another count: ``4,200``, ``12.5M``; half steps keep one digit."""
    if value is None or not math.isfinite(value):
        return UNKNOWN if value is None else str(value)
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if abs(value) >= size * 10:
            return f"{value / size:,.1f}{unit}" if abs(value) < 1e18 else f"{value:.1e}"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def amount(value: float | None) -> str:
    """A number, short: ``850``, ``182k``, ``1.3M``."""
    if value is None or not math.isfinite(value):
        return UNKNOWN if value is None else str(value)
    if abs(value) >= 1e12:
        return f"{value:.1e}"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            scaled = value / size
            return f"{scaled:.1f}{unit}" if abs(scaled) < 100 else f"{scaled:.0f}{unit}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def size(value: float | None) -> str:
    """Bytes in binary units, short: ``512B``, ``14.2G`` (GiB)."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    for unit in "BKMGTP":
        if abs(value) < 1000 or unit == "P":
            break
        value /= 1024
    return f"{value:.0f}{unit}" if unit == "B" or abs(value) >= 100 else f"{value:.1f}{unit}"


def percent(part: float | None, whole: float | None = 1.0) -> str:
    """``part / whole`` as ``84%``; between 0 and 1 % it is ``<1%``, so that only 0 is ``0%``."""
    if part is None or not whole or not math.isfinite(part) or not math.isfinite(whole):
        return UNKNOWN
    value = 100 * part / whole
    return "<1%" if 0 < value < 1 else f"{value:.0f}%"


def whole(value: float | None, unit: str) -> str:
    """A reading without decimals: ``612W``, ``66C``."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:.0f}{unit}"


def spread(values: Sequence[float], unit: str) -> str:
    """Lowest to highest of several readings: ``91-98%``; one figure when they agree."""
    if not values:
        return UNKNOWN
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return f"{low}{unit}" if low == high else f"{low}-{high}{unit}"


def duration(seconds: float | None) -> str:
    """A duration in its one or two largest units: ``12 s``, ``3 h 12 min``, ``2 d 4 h``."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    left = max(0, int(seconds))
    if left < 60:
        return f"{left} s"
    if left < 3600:
        return f"{left // 60} min"
    if left < 48 * 3600:
        hours, minutes = left // 3600, left % 3600 // 60
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = left // 86400, left % 86400 // 3600
    return f"{days:,} d {hours} h" if hours else f"{days:,} d"


def roughly(seconds: float | None) -> str:
    """A duration in steps of ten seconds below a minute, and of a minute above."""
    if seconds is None or not math.isfinite(seconds) or seconds >= 60:
        return duration(seconds)
    return f"{int(seconds // 10 * 10)} s" if seconds >= 10 else "<10 s"


def ago(seconds: float | None) -> str:
    """An age: ``just now``, ``20 s ago``, ``12 min ago``."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    return "just now" if seconds < 10 else f"{roughly(seconds)} ago"


def pace(step_interval_s: float | None) -> str:
    """Seconds per step for slow steps, steps per second for quick ones."""
    if step_interval_s is None or not math.isfinite(step_interval_s) or step_interval_s <= 0:
        return UNKNOWN
    if step_interval_s >= 1:
        return f"{step_interval_s:.3g} s/step" if step_interval_s < 1000 else "slow"
    return f"{amount(1 / step_interval_s)} step/s"
