"""Lines that show what a program reads, not what happens to it.

A model that learns to sort error messages prints some of them with its guesses:
``'Xid 79: GPU has fallen off the bus' -> gpu (0.96)``. Lines of one frame, each with another sentence in
quotes, are a list of samples, and what is quoted in them proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

OTHERS = 2
"""Other lines of the same frame, with other sentences, from which the quoted ones are samples."""
_QUOTED = re.compile(
    r"(?P<open>['\"`“«])(?P<said>[^'\"`”»]{8,400}(?:'\w[^'\"`”»]{0,400})?)['\"`”»](?P<after>\W{1,8}\w)"
)
_RECORD = re.compile(r"\s*(?:\{|\[\s*[\[{\"'])")
_DIGITS = re.compile(r"\d+")
_HEAD = 80


def frame(line: str) -> tuple[str, str] | None:
    """(what is around the first quoted sentence of a line, the sentence); ``None`` without one, and for
    a record with quoted keys."""
    found = _QUOTED.search(line[:600])
    if found is None or _RECORD.match(line) or " " not in found["said"].strip():
        return None
    before = _DIGITS.sub("0", line[: found.start()][:_HEAD])
    return f"{before}{found['open']}{found['after'][:-1]}", found["said"]


def is_sample(line: str, others: Iterable[str]) -> bool:
    """True for a line whose quoted sentence is one of a list of samples: ``others`` has more of them."""
    found = frame(line)
    if found is None:
        return False
    around, said = found
    alike = {other[1] for other in map(frame, others) if other is not None and other[0] == around}
    return len(alike - {said}) >= OTHERS
