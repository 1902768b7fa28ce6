"""What a terminal may be shown of text that others have written: command lines, paths, log lines.

Control characters move the cursor, colour, retitle or answer as if typed; bidirectional ones show
words in another order than they are. None of them reaches a terminal from here.
"""

from __future__ import annotations


def clean(text: object) -> str:
    """One line that is safe to print: control and format characters, and bytes that were not UTF-8,
    become spaces."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else " " for c in shown)


def escaped_json(text: str) -> str:
    """JSON text of the same value, with every character that a terminal could obey escaped by its
    number."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
