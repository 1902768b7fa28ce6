"""Text of others inside Markdown that we write: it is shown as the text it is.

Only what CommonMark or GitHub would take for markup is escaped, so that the source stays a text that
needs no tool: ``train_loss`` and ``[rank0]: 3 * 4`` are left alone. Texts are one line each.
"""

from __future__ import annotations

import re

_INLINE = re.compile(
    r"""
      \\(?=[!-/:-@\[-`{-~]|$)     # a backslash that would escape, or break the line
    | `                           # code
    | (?<!\*)\*+(?=[^\s*])        # emphasis: a run that can open it; without one none can close it
    | (?<!\w)_+(?=[^\s_])         # likewise; inside a word it opens none
    | ~{2,}                       # struck out (GitHub)
    | \](?=\()                    # link, image
    | <(?=[A-Za-z/!?])            # HTML, link
    | &(?=\#?\w+;)                # a character by its name or number
    """,
    re.VERBOSE,
)
_BLOCK = re.compile(
    r"#{1,6}(?:\s|$)|[-+*](?:\s|$)|[-=_*]{2,}\s*$|(?:_\s*){3,}$|~{3}|[>\[|]|(?P<number>\d{1,9})[.)](?:\s|$)"
)
"""What starts a heading, list, rule, fence, quote, definition of a link, task or table at the beginning of a
block."""


def escaped(text: str, *, starts: bool = False) -> str:
    """``text``, one line, as Markdown that renders as the same text.

    ``starts``: it stands at the beginning of a paragraph or list item.
    """
    block = _BLOCK.match(text) if starts else None
    if block is None:
        return _inline(text)
    at = block.end("number") if block["number"] else 0
    return f"{text[:at]}\\{text[at]}{_inline(text[at + 1 :])}"


def _inline(text: str) -> str:
    return _INLINE.sub(lambda found: "".join("\\" + c for c in found[0]), text)


def code(text: str) -> str:
    """``text``, one line, as a code span, whatever backticks are in it."""
    runs = re.findall("`+", text)
    if not runs:
        return f"`{text}`"
    fence = "`" * (max(map(len, runs)) + 1)
    return f"{fence} {text} {fence}"


def with_code(text: str) -> str:
    """Like :func:`escaped`, but what stands between two backticks is a code span: for our own words,
    in which a command may hold a value of others."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # the last backtick has no partner
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(
        f"`{part}`" if number % 2 and part else escaped(part) for number, part in enumerate(parts)
    )
