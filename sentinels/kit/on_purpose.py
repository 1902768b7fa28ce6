"""Processes that the program ends itself, and says so: the worse half of a search, a worker that is replaced."""

from __future__ import annotations

import re

from .view import View

SAID_S = 20.0
"""Seconds before the end within which the program must have said that it ends the process. Our choice:
``terminate`` and ``wait`` take ten at most before a kill follows."""
_NAMES = re.compile(r"\b[^\W\d]\w*\d\w*")
"""Names with a number in them: ``cfg_06``, ``worker-3`` gives none, but its pid is named."""
_NUMBERS = re.compile(r"(?<![\w.])\d+(?![\w.])")


def on_purpose(view: View, at: float, *, pid: int | None = None, text: str = "") -> bool:
    """True for an end at ``at`` (epoch seconds) that the program announced shortly before: it named the
    process ``pid``, or something that ``text``, the line about the end, names as well."""
    names = set(_NAMES.findall(text))
    for phase in reversed(view.phases):
        if phase.at < at - SAID_S:
            return False
        if phase.name != "stop":
            continue
        if pid is not None and str(pid) in _NUMBERS.findall(phase.text):
            return True
        if names & set(_NAMES.findall(phase.text)):
            return True
    return False
