"""The words of a push: its title as a sentence, and the values of the run in a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

_PLACE = r"[\w./+~@-]{1,300}\.(?:cc|cpp|cxx|cuh?|hip|hpp|hh?|c|rs|go|py)"
LONGEST = 2000
"""Characters of a text that are looked at."""
_NOISE = re.compile(
    r"^\s*(?:"
    r"\[?(?:rank|default|Rank )\d+\]?:|\[(?:rank|default|Rank )\d+\]"
    r"|\[?[EWIF]\d{4} [\d:.]+\s+(?:\d+\s+)?" + _PLACE + r":\d+\]"
    r"|\[[EWIF] " + _PLACE + r":\d+\]"
    r"|\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?"
    r"|what\(\):"
    r"|terminate called (?:after throwing an instance of '[^']{1,80}'|recursively|without an active exception)"
    r")\s*:?\s*"
)
"""What loggers and the C++ runtime put before the words of a message."""
_INSIDE = re.compile(rf"\[?{_PLACE}:\d+(?::\d+)?\]?:?")
"""A place in source code, which tells a person on the phone nothing."""
_BACKTRACE = re.compile(
    r"\s*(?:Exception raised from \S+ at|\(most recent call first\)|frame #0:).*$", re.DOTALL
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_TOKEN = re.compile(
    r"(?<![\w$=/{])(PID|LOG|DIR|MOUNT|PATH)(?![\w=/}*])|(?<=https://)(HOST)\b|(?<![\w$=/{])DIR(?=/\*)"
)


def sentence(text: str, otherwise: str = "") -> str:
    """``text`` without what programs put around their words: ranks, time stamps, and places in
    source code. ``otherwise`` is put before it when places were left out of the beginning, as what
    follows them is rarely a sentence, and stands alone when no words are left."""
    shorn = _BACKTRACE.sub("", text[:LONGEST])
    while (match := _NOISE.match(shorn)) is not None and match.end():
        shorn = shorn[match.end() :]
    words = shorn.split()
    kept = [word for word in words if not _INSIDE.fullmatch(word)]
    began_with_place = bool(words) and kept[:1] != words[:1]
    shorn = shorn if len(kept) == len(words) else " ".join(kept)
    shorn = shorn.strip(" :;,")
    if len(_WORD.findall(shorn)) < 2 and otherwise and shorn != text.strip():
        shorn = ""
    title = otherwise.rstrip(".")
    if not shorn:
        return title or text
    return f"{title}: {shorn}" if began_with_place and title else shorn


def filled(step: str, values: Mapping[str, str], typed: Mapping[str, str] | None = None) -> str:
    """A step of a remedy with the values of the run for ``PID``, ``LOG``, ``DIR``, ``MOUNT``,
    ``PATH`` and ``HOST``; a name without a value stays. ``typed``: values that a shell takes as they are."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2] or "DIR"
        if typed and name in typed:
            return typed[name]
        known = values.get(name, "")
        return shlex.quote(known) if known else match[0]

    return _TOKEN.sub(value, step)


def repeats(line: str, others: Sequence[str]) -> bool:
    """True for a line whose words another one has as well."""
    bare = _bare(line)
    return any(bare in _bare(other) for other in others) if bare else True


def _bare(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()) + re.findall(r"\d+", text))
