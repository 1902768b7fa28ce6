"""Decode the bytes of lines, and make text that any JSON writer accepts."""

from __future__ import annotations

import re

MAX_TEXT = 400
"""Characters of the longest line text that the parsers give out (as evidence)."""

USUAL_WORDS = re.compile(
    "batch|checkpoints?|epoch|error|gpu|grad(?:ient)?s?|info|instance|iteration|loss(?:es)?|model|return(?:ed)?|seconds?"
    "|state|step|the|to|train(?:ing)?|(?:e?val|(?:evalu|valid)ation)|value|warning|weights|with"
)
"""Words so frequent in training logs that they do not distinguish one line from another."""


def decode(piece: bytes) -> str:
    """Decode as UTF-8; invalid bytes become lone surrogates, so that they can be encoded again."""
    return piece.decode("utf-8", "surrogateescape")


def plain(text: str, limit: int = MAX_TEXT) -> str:
    """At most ``limit`` characters without control characters or lone surrogates."""
    text = text[: limit + 1].rstrip()
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _stand_in(c) for c in text)


def _stand_in(char: str) -> str:
    return " " if char in "\t\v\f\u00a0\u3000" else "\N{REPLACEMENT CHARACTER}"
