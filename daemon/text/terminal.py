"""What a terminal may be shown of text that others have written: command lines, paths, log lines.

Control characters move the cursor, colour, retitle or answer as if typed; bidirectional ones show
words in another order than they are. None of them reaches a terminal from here.
"""

from __future__ import annotations

import re

_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
"""Combining marks for any letter, in the blocks of Unicode that hold nothing else."""
MOST_MARKS = 4
"""Marks that are shown on one letter: more paint over the lines above and below. Our choice; no
orthography we know of stacks more than three."""
_STACK = re.compile(f"([{_MARKS}]{{{MOST_MARKS}}})[{_MARKS}]+")


def clean(text: object) -> str:
    """One line that is safe to print: control and format characters, and bytes that were not UTF-8,
    become spaces; of a stack of combining marks the first ``MOST_MARKS`` are kept."""
    shown = str(text)
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else " " for c in shown)
    return shown if shown.isascii() else _STACK.sub(r"\1", shown)


def one_line(text: object) -> str:
    """Like :func:`clean`, with one space between words."""
    return " ".join(clean(text).split())


def escaped_json(text: str) -> str:
    """JSON text of the same value, with every character that a terminal could obey escaped by its
    number."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
