"""Lines that show what a program reads, not what happens to it.

A model that learns to sort error messages prints some of them with its guesses:
``'Xid 79: GPU has fallen off the bus' -> gpu (0.96)``. Lines of one frame, each with another sentence in
quotes, are a list of samples, and what is quoted in them proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from middlewatch.sentinels.kit import LogEvent

from .matcher import candidates, matches

LOOK_BACK = 40
"""Lines in which others are looked for: a list is printed in one go, or one line with every epoch."""
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


def is_sample(event: LogEvent, others: Iterable[str]) -> bool:
    """True for a trouble that is only named in the quoted sentence of a line, and that sentence is one of
    a list of samples: ``others`` has more of them. A traceback is none, whatever it quotes."""
    found = None if "exception" in event.details else frame(event.text)
    if found is None:
        return False
    around, said = found
    rest = event.text.replace(said, "", 1)
    if any(row.trouble == event.trouble for row, _ in matches(rest, candidates(rest))):
        return False
    alike = {other[1] for other in map(frame, others) if other is not None and other[0] == around}
    return len(alike - {said}) >= OTHERS
