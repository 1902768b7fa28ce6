"""Reading the daemon's `overview` answer without trusting it.

The answer is made of strings from a training box: log lines, file names, process names. Every
string leaves here cleaned, so that no screen can forget it, and every missing or misshapen
field leaves as ``None``, an empty list or an empty dict, never as an exception.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from rich.cells import get_character_cell_size

Answer = Mapping[str, Any]

LONGEST = 4096
"""Characters of one string that are looked at. A screen of 200 by 60 holds 12,000 cells, and a
log line may be 64 KiB long; what lies behind is not shown, and must not be paid for."""

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves, modes
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, …
    r"|\x1b[ -/]*[0-~]"  # the short ones: charset, reset, keypad
)
_MODIFIERS = range(0x1F3FB, 0x1F400)
"""Skin tones: they join the character before them in some terminals and not in others."""


def clean(text: str) -> str:
    """``text`` as one line that cannot command a terminal and whose width can be trusted.

    Escape sequences go, of a line redrawn with carriage returns the last drawing stays, tabs
    become spaces, and other control characters become ``?``. Characters without a width of
    their own (joiners, direction marks, combining marks that do not compose) go as well:
    terminals disagree about them, and a row of wrong width garbles the screen.
    """
    text = text[:LONGEST]
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCE.sub("", text).rstrip("\r\n")
    text = text[text.rfind("\r") + 1 :]
    text = unicodedata.normalize("NFC", text.replace("\t", "    ").replace("\n", " "))
    return "".join(map(_safe, text))


@lru_cache(maxsize=4096)
def _safe(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Cn", "Co", "Cs"):
        return "?"
    if category in ("Cf", "Mn", "Me", "Zl", "Zp") or ord(character) in _MODIFIERS:
        return ""
    return character if get_character_cell_size(character) in (1, 2) else ""


def text(record: Answer, key: str) -> str:
    """The cleaned string under ``key``; ``""`` when there is none."""
    value = record.get(key)
    return clean(value) if isinstance(value, str) else ""


def texts(record: Answer, key: str) -> list[str]:
    """The cleaned strings of the list under ``key``."""
    return [clean(value) for value in _list(record, key) if isinstance(value, str)]


def lines(record: Answer, key: str) -> list[str]:
    """The cleaned lines of the string under ``key``, for text that may have several."""
    value = record.get(key)
    return [clean(line) for line in value.split("\n")] if isinstance(value, str) else []


def number(record: Answer, key: str) -> float | None:
    """The number under ``key``, which may be ``nan`` or infinite; ``None`` when unknown."""
    return as_number(record.get(key))


def as_number(value: object) -> float | None:
    """A JSON number, or one of the strings that stand for the numbers JSON cannot write."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return float(value) if value in ("nan", "inf", "-inf") else None


def finite(record: Answer, key: str) -> float | None:
    """The number under ``key`` when it is finite; sizes and ages never are anything else."""
    value = number(record, key)
    return value if value is not None and math.isfinite(value) else None


def record(parent: Answer, key: str) -> Answer:
    """The object under ``key``; an empty one when there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def records(parent: Answer, key: str) -> list[Answer]:
    """The objects of the list under ``key``."""
    return [value for value in _list(parent, key) if isinstance(value, dict)]


def moment(record: Answer, key: str) -> datetime | None:
    """The ISO 8601 time under ``key`` in the box's own zone (UTC when it names none)."""
    value = record.get(key)
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=timezone.utc)


def epoch(record: Answer, key: str) -> float | None:
    """The time under ``key`` in epoch seconds."""
    at = moment(record, key)
    try:
        return at.timestamp() if at else None
    except (OverflowError, ValueError):
        return None


def _list(parent: Answer, key: str) -> list[Any]:
    value = parent.get(key)
    return value if isinstance(value, list) else []
