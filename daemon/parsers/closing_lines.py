"""The last line of a log by what it pairs with: a program's own end of what it began, or a new beginning."""

from __future__ import annotations

import re
from collections.abc import Sequence

Lines = Sequence[tuple[int, str]]

_BEGIN = (
    r"(?i:start(?:s|ed|ing)?|begin(?:s|ning)?|began|enter(?:s|ed|ing)?|inicio|iniciando|comienzo|début|beginn|starte|inizio|início)"
    r"|[Нн]ачал[оа]|开始|開始|시작"
)
_END = (
    r"(?i:end(?:s|ed)?|finish(?:es|ed)?|exit(?:s|ed|ing)?|stop(?:s|ped)?|done|complete(?:d|s)?|fin|final|fim|fine|ende|beendet|terminé)"
    r"|[Кк]онец|[Зз]авершено|结束|完成|終了|끝"
)
_BEGINS = re.compile(rf"(?<!\w)(?:{_BEGIN})(?!\w)")
_ENDS = re.compile(rf"(?<!\w)(?:{_END})(?!\w)")
_STAMP = re.compile(r"\d[\d:.,/TZ+-]*")
WORDS = 6
"""Words of a line that announces a part of a program, at most: a sentence may speak of anything."""
_PROMPT = re.compile(
    r"^(?:\(\w[\w.-]*\) ?)?(?:\[?\w[\w.-]*@[\w.-]+[ :][^\]$#]{0,120}\]?\s?[$#]|PS [A-Z]:\\.{0,200}>)(?:\s|$)"
    r"|^[A-Z]:\\[^>]{0,200}>"
)
"""Of bash as Debian and Red Hat set it, PowerShell and cmd: what was typed after the program has ended."""


def without_shell(lines: Lines) -> Lines:
    """The lines before the first prompt that comes after a program's words."""
    words = next(
        (i for i, (_, text) in enumerate(lines) if text.strip() and not _PROMPT.match(text)), 0
    )
    typed = (i for i, (_, text) in enumerate(lines) if i > words and _PROMPT.match(text))
    return lines[: next(typed, len(lines))]


def begins(text: str) -> bool:
    """True for a line that says that something begins, and nothing more."""
    return (
        _BEGINS.search(text) is not None
        and _ENDS.search(text) is None
        and len(re.findall(r"[^\W\d_]+", text)) <= WORDS
    )


def closes(texts: Sequence[str]) -> bool:
    """Whether the last line says of the same thing that it has ended, of which an earlier one said that it began:
    ``START predict.py`` … ``END predict.py``."""
    if not texts or len(re.findall(r"[^\W\d_]+", texts[-1])) > WORDS or not _ENDS.search(texts[-1]):
        return False
    thing = _thing(_ENDS, texts[-1])
    told = (_thing(_BEGINS, text) for text in texts[:-1] if _BEGINS.search(text))
    return bool(re.search(r"[^\W\d_]{2}", thing)) and thing in told


def _thing(word: re.Pattern[str], text: str) -> str:
    """A line without the word for its beginning or end, and without time stamps."""
    return " ".join(_STAMP.sub(" ", word.sub(" ", text, count=1)).split())
