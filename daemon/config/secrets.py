"""Mask secrets in log lines, so that evidence and messages never carry them off the box.

Four kinds, each in its module: what stands beside a key, what stands where a secret stands, what
has the shape of a key of some service, and words that are secrets by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .secret_keys import hide_keyed
from .secret_places import hide_alone, hide_places
from .secret_rules import hide_shapes

_PIECES = re.compile(r"[/?&=:@#,]+")
_BETWEEN = "\x1f"
"""Between the words of a command while it is masked: a blank that no command has."""


REMEMBERED, LONGEST_REMEMBERED = 512, 1000
"""Texts, and characters of one: pages, answers and the store show the same lines again and again, and to
mask one takes as long as to read it. At most half a megabyte, if all of them had secrets."""


def mask(text: str) -> str:
    """``text`` with everything that looks like a credential replaced by ``***``.

    A word of 40 hexadecimal digits is masked, because keys of trackers look like that, unless it is
    part of a path or a word beside it says that it is a commit or a digest.
    """
    return hide(text) if len(text) > LONGEST_REMEMBERED else _remembered(text)


@lru_cache(maxsize=REMEMBERED)
def _remembered(text: str) -> str:
    return hide(text)


def hide(text: str) -> str:
    """The work of :func:`mask`, done each time."""
    low = text.lower()
    text = hide_keyed(hide_shapes(hide_places(text, low)), low)
    return hide_alone(text)


def mask_words(words: Sequence[str]) -> list[str]:
    """The words of a command, masked; an option and its value stand in two of them."""
    masked = mask(_BETWEEN.join(words)).split(_BETWEEN)
    return masked if len(masked) == len(words) else [mask(word) for word in words]


def mask_lines(text: str) -> str:
    """``text`` of several lines, each masked by itself."""
    return "\n".join(map(mask, text.split("\n")))


def mask_values(value: Any) -> Any:
    """The same value with every text in it masked: what JSON can hold, keys excepted.

    A text beside a key that says what it is counts as one: `{"password": "…"}`.
    """
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: _value_of(str(key), each) for key, each in value.items()}
    if isinstance(value, list):
        return [mask_values(each) for each in value]
    if isinstance(value, tuple):
        return tuple(mask_values(each) for each in value)
    return value


def _value_of(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return mask_values(value)
    said = f'"{key}": "'
    masked = mask(f'{said}{value}"')
    keyed = masked == f'{said}***"'
    return "***" if keyed and value else mask(value)


def mask_urls(text: str, urls: Iterable[str]) -> str:
    """``text`` with every part of ``urls`` masked: user, password, host, token, topic.

    Services differ in which part is the secret; therefore all of them are masked.
    """
    pieces: set[str] = set()
    for url in urls:
        _, _, rest = url.partition("://")
        pieces.update(p for p in (url, *_PIECES.split(rest)) if len(p) >= 4)
    for piece in sorted(pieces, key=len, reverse=True):
        text = text.replace(piece, "***")
    return mask(text)
