"""Words of a line, quoted as in a shell; nothing is expanded."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPACE = " \t"
_SHELL = re.compile(r"[|&;<>]|\d?>")
_EXPANDED = re.compile(r"\$[A-Za-z_{(0-9?@*#]|`")
_IN_DOUBLE = '"\\$`'
"""What a backslash takes its meaning from between double quotes (POSIX shell, 2.2.3)."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word. ``bare``: its part before the first quote; ``unquoted``: its text without the quoted parts."""

    text: str
    bare: str
    unquoted: str

    @property
    def of_shell(self) -> str:
        """Why a shell would read it as more than its text, or empty."""
        if _EXPANDED.search(self.unquoted):
            return "is not replaced"
        if "*" in self.unquoted:
            return "is not replaced by names of files"
        if self.bare == "~" or self.bare.startswith("~/"):
            return "is not replaced by your home"
        if _SHELL.search(self.unquoted):
            return "is a sign of the shell"
        return ""


class _Reader:
    """Takes a line apart, a character at a time."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0

    def words(self) -> list[Word]:
        found = []
        while (word := self._word()) is not None:
            found.append(word)
        return found

    def _next(self) -> str:
        if self.at >= len(self.line):
            raise ValueError("it ends inside of quotes, or with a backslash")
        self.at += 1
        return self.line[self.at - 1]

    def _word(self) -> Word | None:
        while self.at < len(self.line) and self.line[self.at] in _SPACE:
            self.at += 1
        if self.at >= len(self.line) or self.line[self.at] == "#":
            return None
        text, unquoted, bare = "", "", None
        while self.at < len(self.line) and self.line[self.at] not in _SPACE:
            sign = self._next()
            if sign not in "'\"\\":
                text, unquoted = text + sign, unquoted + sign
                continue
            bare = text if bare is None else bare
            text += self._next() if sign == "\\" else self._quoted(sign)
        return Word(text, text if bare is None else bare, unquoted)

    def _quoted(self, quote: str) -> str:
        text = ""
        while (sign := self._next()) != quote:
            if sign == "\\" and quote == '"':
                after = self._next()
                sign = after if after in _IN_DOUBLE else sign + after
            text += sign
        return text


def split(line: str) -> list[Word]:
    """The words of a line up to a comment: ``#`` at the begin of a word. Raises ValueError for a quote
    that is not closed."""
    return _Reader(line).words()


def lines(text: str) -> list[tuple[int, str]]:
    """The lines with their numbers, from 1; one that ends in a backslash goes on in the next one.

    A mark of the byte order and carriage returns of other systems are taken away.
    """
    found: list[tuple[int, str]] = []
    open_line = False
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r")
        if open_line:
            first, before = found.pop()
            number, line = first, before + line
        open_line = not line.lstrip().startswith("#") and _goes_on(line)
        found.append((number, line[:-1] if open_line else line))
    return found


def _goes_on(line: str) -> bool:
    """An odd number of backslashes at its end: the last one is not quoted by another."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
