"""Whether a word is a secret: what is written where one stands, and what looks random."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

HIDDEN = "***"

RANDOM_LENGTH = 12
"""Characters of the shortest word that can look random (our choice): shorter names of files and
layers are everywhere."""
RANDOM_BITS = 2.8
"""Entropy per character, in bits, of a word that looks random (our choice). 16 random letters and
digits have 3.77 on average and 2.95 at the least of 100,000, 16 hexadecimal digits 3.21 and 2.18:
a few of these are missed. Long words of a language have as much (2.7 to 3.4): the changes below
tell them apart."""
CHANGES = 0.2
"""How often the kind of character (capital, small, digit) changes from one character to the next
in a word that looks random; three quarters of it are enough where there are digits (our choice).
In 50,000 random words of 32 letters and digits it was 0.60 on average and 0.22 at the least, of 32
hexadecimal digits 0.45 and 0.09; in `checkpoint-004200` it is 0.12."""


def words(text: str) -> list[str]:
    """The words of a text, for long lists of them."""
    return text.split()


_PLACEHOLDER = re.compile(
    r"""
      [*x.•_\-#?…]+ | \*{3}.* | <.* | \$\{?\w+\}?.* | %\w+%.* | \{.* | \[.* | \(.* | @\w+@
    | (?:your|my|the|some|example|dummy|fake|insert|enter|todo|changeme|placeholder)
      (?:[-_ ].*)?
    | \#.* | \|.*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOTHING = frozenset(
    words("""
    none null nil undefined true false yes no on off n/a na unset set empty missing required
    optional default redacted hidden masked filtered removed omitted secret token password
    passwd key str string bytes int float bool any text type object list dict tuple enabled
    disabled auto env environment file prompt stdin keyring vault netrc basic bearer digest
    negotiate ntlm incorrect invalid failed failure wrong expired denied unauthorized
    forbidden rejected accepted ok success successful error unknown unexpected not is was must
    should cannot can may will for from of to in with and or the a an this that if when are
    has have been authentication authorization authenticated mismatch found given provided
    used using loaded cached saved present absent valid verified strength policy length
    rotation rotated changed updated reset needed ignored skipped supported deprecated
    anonymous localhost admin root user username self cls args kwargs config settings options
    value values name names id ids utf-8 utf8 ascii passed
    """)
)
"""What stands behind `password:` and is none; the words of error messages and of programs."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z_][\w.]*(?:\(.*|\[.*)|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|lambda\b.*")
"""A call, an item, an attribute: program text in a traceback."""
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:|[A-Z]+(?=/))?[/\\](?:[\w.@+\-]+[/\\])*[\w.@+\-]*|(?:file|env)://?.*"
)
_NUMBER = re.compile(r"[+\-]?[\d.,_]+(?:[eE][+\-]?\d+)?[%kKMGTBs]?")
_HEX = re.compile(r"[0-9a-fA-F]+")
_PARTS = re.compile(r"[_\-./:=+@~,\\]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d.*|\d+(?::\d+)+.*")


def is_nothing(value: str) -> bool:
    """True for what stands for a value: `None`, `***`, `<token>`, `${TOKEN}`, a word of prose."""
    return value.lower().rstrip(".:!,") in _NOTHING or _PLACEHOLDER.fullmatch(value) is not None


def is_code(value: str) -> bool:
    """True for a piece of a program: `get_token()`, `self.token`, `os.environ["TOKEN"]`."""
    return _CODE.fullmatch(value) is not None


def is_path(value: str) -> bool:
    """True for the name of a file."""
    return _PATH.fullmatch(value) is not None


def is_number(value: str) -> bool:
    """True for a number, a time or a date."""
    return _NUMBER.fullmatch(value) is not None or _TIME.fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    """True for 32 hexadecimal digits in five groups."""
    return _UUID.fullmatch(value) is not None


def is_hex(value: str) -> bool:
    """True for nothing but hexadecimal digits."""
    return _HEX.fullmatch(value) is not None


def bits(word: str) -> float:
    """Entropy of the characters of a word, in bits per character."""
    length = len(word)
    return -sum(n / length * math.log2(n / length) for n in Counter(word).values())


def _kind(letter: str) -> int:
    return 0 if letter.isdigit() else 1 if letter.isupper() else 2 if letter.isalpha() else 3


def looks_random(word: str, shortest: int = RANDOM_LENGTH) -> bool:
    """True for a word that nobody chose: long, mixed, and not made of words and numbers.

    Hexadecimal digits count; numbers, dates, UUIDs, file names and words joined by `_-./` do not.
    """
    if len(word) < shortest or is_number(word) or is_uuid(word):
        return False
    word = word[:256]
    kinds = [_kind(c) for c in word]
    if 0 not in kinds and not (1 in kinds and 2 in kinds):
        return False
    longest = max(_PARTS.split(word), key=len)
    if len(longest) < min(shortest, 16):
        # Short pieces are random together only when most of them are mixed.
        pieces = [p for p in _PARTS.split(word) if p]
        mixed = sum(len(p) for p in pieces if _mixed(p))
        return mixed >= 0.6 * len(word) and bits(word) >= RANDOM_BITS + 0.4
    changes = sum(a != b for a, b in itertools.pairwise(kinds)) / len(word)
    if 0 not in kinds:  # CamelCase has capitals too, one for each word
        return changes >= 2 * CHANGES and len(longest) >= 16
    return changes >= CHANGES * 0.75 and bits(word) >= RANDOM_BITS and _mixed(longest)


def _mixed(piece: str) -> bool:
    """True for letters and digits that take turns, unlike in `layer12` or `0042abc`."""
    if len(piece) < 4 or piece.isalpha() or piece.isdigit():
        return False
    kinds = [_kind(c) for c in piece]
    return sum(a != b for a, b in itertools.pairwise(kinds)) >= 2
