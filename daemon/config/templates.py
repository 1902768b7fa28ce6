"""Templates of a person for the title and the body of a push: ``{severity} {run}: {what}``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

FIELDS: Mapping[str, str] = {
    "severity": "`CRITICAL`, `WARNING`, `RESOLVED`, …",
    "run": "name of the run",
    "host": "name of the box",
    "what": "what happened",
    "class": "class of the trouble, like `loss_nan`",
    "incident": "id of the incident",
    "since": "since when",
    "proof": "the line or the numbers that show it",
    "checkpoint": "the last good checkpoint",
    "first_step": "the first step",
    "title": "the title as it would be without a template",
    "body": "the body as it would be without a template",
}
"""Name of a field -> what it is."""
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def wrong(template: str) -> str:
    """What is wrong with a template; empty if nothing is."""
    for part in _PART.finditer(template):
        if part[0] in ("{{", "}}"):
            continue
        if part[1] is None:
            return f"has a single {part[0]}; write {part[0] * 2} for the character itself"
        if part[1] not in FIELDS:
            return f"has no field {part[0]}; there are: {', '.join(FIELDS)}"
    return ""


def filled(template: str, values: Mapping[str, str]) -> str:
    """A template with its values; a line is left out if all its fields are empty."""
    return "\n".join(_lines(template, values))


def _lines(template: str, values: Mapping[str, str]) -> Iterator[str]:
    for line in template.split("\n"):
        names = [part[1] for part in _PART.finditer(line) if part[1]]
        if names and not any(values.get(name) for name in names):
            continue
        yield _PART.sub(lambda part: _value(part, values), line).rstrip()


def _value(part: re.Match[str], values: Mapping[str, str]) -> str:
    if part[0] in ("{{", "}}"):
        return part[0][0]
    return values.get(part[1] or "", "")
