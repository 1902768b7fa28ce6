"""Reads values from the daemon's `overview` answer, without trusting it.

The answer has strings from a training box: log lines, file names, process names. The functions here
return every string cleaned, so that no screen has to do it. For a missing or malformed field they
return ``None``, an empty list or an empty dict; they never raise.
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
"""Characters used of one string. A screen of 200 by 60 has 12,000 cells, while a log line may have
64 KiB: cleaning what is not shown would only cost time."""

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves, modes
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, …
    r"|\x1b[ -/]*[0-~]"  # short sequences: charset, reset, keypad
)
_MODIFIERS = range(0x1F3FB, 0x1F400)
"""Skin tones. Some terminals combine them with the character before them, others do not."""


def clean(text: str) -> str:
    """``text`` as one line without terminal commands, and with a predictable width.

    Escape sequences are removed. Of a line that was redrawn with carriage returns, the last version
    is kept. Tabs become spaces, other control characters ``?``. Characters of zero width (joiners,
    direction marks, combining marks that do not compose) are removed, because terminals treat them
    differently and a row of the wrong width garbles the screen.
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
    if category == "Zs":  # blanks of other widths: a terminal gets ours
        return " " * get_character_cell_size(character)
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
    """``value`` as a float if it is a JSON number, or ``"nan"``, ``"inf"``, ``"-inf"``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return float(value) if value in ("nan", "inf", "-inf") else None


def finite(record: Answer, key: str) -> float | None:
    """The number under ``key`` if it is finite (sizes and ages always are), else ``None``."""
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
    """The ISO 8601 time under ``key``, with its time zone (UTC if it has none)."""
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
