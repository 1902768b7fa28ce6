"""Convert numbers in the spelling of other languages and libraries to that of Python.

Every change keeps the length of the text, so that positions found later are those in the line as
it was printed.
"""

from __future__ import annotations

import re

_CLUE = re.compile(r"1\.#|tensor\(|array\(|float\(")
_MICROSOFT = re.compile(r"(?<![\w.])[-+]?1\.#[QS]?(?P<word>NAN|IND|INF)0*(?!\w)")
_CALL = re.compile(
    r"(?:\btensor|\barray|\bfloat)\(\s{0,4}[\"'\[]{0,3}(?=[-+]?(?:\d|\.\d|nan\b|inf\b|NaN\b|Inf\b))"
)


def usual(text: str) -> str:
    """``1.#QNAN`` is nan, ``tensor(2.5`` is 2.5: the same text in the spelling of Python."""
    if not _CLUE.search(text):
        return text
    text = _MICROSOFT.sub(_word, text)
    return _CALL.sub(lambda match: " " * len(match.group()), text)


def _word(match: re.Match[str]) -> str:
    begin, end = match.span("word")
    word = "inf" if match["word"] == "INF" else "nan"
    return " " * (begin - match.start()) + word + " " * (match.end() - end)
