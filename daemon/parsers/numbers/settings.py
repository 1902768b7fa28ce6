"""The planned length of a run, in the settings that a program prints before it begins."""

from __future__ import annotations

import re

from .fields import Field

_STEPS = (
    r"(?:max|total|num|n)[_ -]?(?:train(?:ing)?[_ -])?(?:optim(?:ization|izer)?[_ -])?(?:steps|iters?|iterations|updates?)"
    r"|train[_-]?(?:steps|iters?|iterations)|max_update|iterations"
)
_EPOCHS = (
    r"(?:(?:max|total|num|n|nb|no)[_ -]?)?(?:train(?:ing)?[_ -])?epochs|num[_-]?epoch|max[_-]?epoch"
)
_PLAN = re.compile(
    rf"(?<![\w.])(?:--)?[\"']?(?:\w{{1,20}}\.)?(?:(?P<total>{_STEPS})|(?P<epochs>{_EPOCHS}))[\"']?"
    r"(?:\s{0,30}[:=]\s{0,30}|(?<=\w)\s(?=\d))[\"'(]?(?P<number>\d{1,12})(?![\w.,]?\d|[\w/%]|\.\d)",
    re.IGNORECASE,
)
_CLUE = re.compile("step|iter|update|epoch", re.IGNORECASE)
MAX_TEXT = 8192


def planned(text: str) -> list[Field]:
    """The total steps and epochs that settings on this line give, at most one of each."""
    text = text[:MAX_TEXT]
    if not _CLUE.search(text):
        return []
    fields: list[Field] = []
    for match in _PLAN.finditer(text):
        if not match.group().startswith("--") and not _has_mark(match):
            continue  # "epochs 3" may be a sentence
        name = "total" if match["total"] else "epochs"
        if int(match["number"]) > 0 and all(f.name != name for f in fields):
            fields.append(Field(name, *match.span("number"), key=match["total"] or match["epochs"]))
    return fields


def _has_mark(match: re.Match[str]) -> bool:
    text = match.group()
    return ":" in text or "=" in text
