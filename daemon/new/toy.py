"""A text to try a training with: sums, which a small model begins to learn within a minute."""

from __future__ import annotations

MOST = 100
"""Both numbers stay below it: 10,000 lines, 133 kB. Our choice."""


def text() -> str:
    """All sums of two numbers below :data:`MOST`, in an order that is the same on every machine."""
    lines = []
    for number in range(MOST * MOST):
        # 37 and 10,000 have no common divisor, so every pair comes up once, and not in order.
        a, b = divmod(number * 37 % (MOST * MOST), MOST)
        lines.append(f"{a} + {b} = {a + b}\n")
    return "".join(lines)
