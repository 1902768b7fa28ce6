"""A line that a program printed again and again, and in whose place an error comes now.

``uploaded epoch03.npz`` after each epoch, and then ``upload of epoch04.npz failed: 507`` instead, again
and again while the training goes on: nobody reads it, and nothing of what was to be done is done.
An error alone is no trouble of this kind (a retry that works prints one, too): it has to come as often as
the other line came, and the other one to stay away.

A turn is counted in reports of the training, so that a slow epoch changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

TIMES = 3
"""Turns in which the usual line must have come, and then in which the error has come in its place. Our
choice: two may be an accident and its repetition."""
LATE = 1.5
"""A line is late after this many times the longest distance at which it came so far."""
_FAILED = re.compile(
    rb"(?-i:\b[A-Z]\w*(?:Error|Exception)\b)|\berr(?:or|no)\b|\bfail|\bcannot\b|\bcould(?: not|n't)\b|\bunable\b"
    rb"|\brefused\b|\bdenied\b|\btimed? ?out\b|\brejected\b|\babort|\bfehler|\bfehlgeschlagen\b|\bkonnte\w* nicht\b"
    rb"|\berreur\b|\b\xc3\xa9chec|\bfall[o\xc3]|\bno se pudo\b|\bimposs",
    re.IGNORECASE,
)
_FAILED_ELSEWHERE = tuple(
    w.encode() for w in ("失败", "错误", "异常", "無法", "无法", "失敗", "エラー")
)
"""Words of a line that says that something was not done; one that says that it was left out on purpose
(``skipped``, ``not improved``) is no error."""
_WORD = re.compile(rb"[^\W\d_]{4,}")
_STEM = 5
"""Letters by which words are compared: ``uploaded`` and ``upload``."""


@dataclass(slots=True)
class Turn:
    """How one shape comes, in reports of the training."""

    failed: bool
    text: bytes
    first: int
    last: int
    times: int = 1
    """Turns in which it came."""
    longest: int = 0
    """The most reports from one of them to the next."""
    since: float = 0.0
    """When it came first; epoch seconds."""

    def comes(self, reports: int) -> None:
        """Note that the line came; several of one turn count once."""
        if reports > self.last:
            self.times += 1
            self.longest = max(self.longest, reports - self.last)
            self.last = reports

    def missing(self, reports: int) -> bool:
        """True when it was usual and is late by :data:`TIMES` turns."""
        return self.times >= TIMES and reports - self.last >= TIMES * self.longest


def says_failed(line: bytes) -> bool:
    """True for a line that says that something was not done."""
    return bool(_FAILED.search(line)) or any(word in line for word in _FAILED_ELSEWHERE)


def replaced(error: Turn, others: Collection[Turn], reports: int) -> Turn | None:
    """The usual line in whose place ``error`` has come since; ``None`` without one."""
    if not error.failed or error.times < TIMES:
        return None
    gone = [one for one in others if not one.failed and one.missing(reports)]
    for one in gone:
        fits = one.last <= error.first <= one.last + LATE * one.longest
        if not fits or error.longest > LATE * one.longest:
            continue
        beside = (other for other in others if other is not one and not other.failed)
        if (_stems(one.text) & _stems(error.text)) - _all(other.text for other in beside):
            return one
    return None


def _stems(text: bytes) -> set[bytes]:
    return {word[:_STEM].lower() for word in _WORD.findall(text)}


def _all(texts: Iterable[bytes]) -> set[bytes]:
    found: set[bytes] = set()
    for text in texts:
        found |= _stems(text)
    return found
