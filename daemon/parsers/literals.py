"""Literal texts that every match of a pattern contains, found by walking the parsed pattern.

A pattern is split into *paths*, one for each way through its alternatives. A path is the literal
text on that way, with a :data:`GAP` wherever other text may stand. Each path gives one atom: its
rarest stretch without a gap.

Case is folded for ASCII letters only, as in :mod:`.prefilter`. The four other letters that Unicode
folds to ASCII ones (ſ, ı, İ and the Kelvin sign) are ignored: no program writes a message with
them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

from .text import USUAL_WORDS

try:
    from re import _constants as op  # type: ignore[attr-defined, unused-ignore]
    from re import _parser as parser  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # Python 3.10
    import sre_constants as op
    import sre_parse as parser

GAP = "\0"
"""Stands in a path for any text, or none."""
MAX_PATHS = 8192
"""Limit on the paths through one alternative of a pattern."""
MAX_CHARS = 8
"""Limit on the characters of a class that get a path each; a larger class is a gap."""
STRONG = 8.0
"""Strength of an atom that is rare enough; for weaker ones optional parts are followed too."""
ENOUGH = 7.5
"""Strength from which a text shared by several alternatives is preferred to a rarer one."""
WEAKEST = 1.1
"""Least strength of an atom, unless ``narrow`` asks for it."""

Paths = frozenset[str]
_NOTHING: Paths = frozenset([""])
_ANYTHING: Paths = frozenset([GAP])
_SPLIT = re.compile(r"[\0\d]+")
_WORD = re.compile(r"[^\W_]+")


class NotProved(ValueError):
    """A pattern has an alternative without a usable literal, or one without a ``narrow`` text."""


def fold(text: str) -> str:
    """ASCII letters in lower case, all others as they are: ``bytes.lower`` of the text."""
    return text.encode("utf-8", "surrogateescape").lower().decode("utf-8", "surrogateescape")


@lru_cache(maxsize=1 << 15)
def strength(atom: str) -> float:
    """How rare a text is in the logs of trainings, estimated from its letters.

    Each letter counts 1, or a quarter in a word that is frequent in every such log. A single
    word counts 0.7 of that, and other characters a quarter each.
    """
    value = 0.0
    words = _WORD.findall(atom)
    for word in words:
        if word.isascii():
            value += len(word) * (0.25 if USUAL_WORDS.fullmatch(word) else 1.0)
        else:
            value += sum(1.5 if c.lower() != c.upper() else 3.0 for c in word)
    return value * (0.7 if len(words) == 1 else 1.0) + 0.25 * len(_WORD.sub("", atom))


def derive(pattern: str, narrow: Sequence[str] = ()) -> tuple[str, ...]:
    """The atoms of a pattern: every line that it matches contains one of these texts, folded.

    They have no digits. A text of ``narrow`` is used for every path that contains it, in place
    of a derived one. Raises :class:`NotProved` where a text of it is on no path, and where an
    alternative has no text at all.
    """
    tree = parser.parse(pattern)
    used: set[str] = set()
    rest: set[tuple[str, ...]] = set()
    for alternative, flags in _alternatives(tree, tree.state.flags):
        named, others = _sorted_out(
            _Walk(narrow, detailed=False).sequence(alternative, flags), narrow
        )
        if min(map(_best, others), default=STRONG) < STRONG:
            named, others = _sorted_out(
                _Walk(narrow, detailed=True).sequence(alternative, flags), narrow
            )
        used |= named
        rest |= others
    unproved = [text for text in narrow if text not in used]
    if unproved:
        raise NotProved(f"no alternative needs {unproved}: {pattern}")
    atoms = used | set(_cover(rest))
    weak = [a for a in atoms if a not in used and strength(a) < WEAKEST]
    if weak:
        raise NotProved(f"an alternative has no text but {weak}: {pattern}")
    return tuple(sorted(a for a in atoms if not any(b in a for b in atoms if b != a)))


def _sorted_out(paths: Paths, narrow: Sequence[str]) -> tuple[set[str], set[tuple[str, ...]]]:
    """(texts of ``narrow`` that are on a path, the stretches of each path without one)."""
    named: set[str] = set()
    others: set[tuple[str, ...]] = set()
    for path in paths:
        stretches = tuple(_SPLIT.split(path))
        text = next((t for t in narrow if any(t in stretch for stretch in stretches)), None)
        if text is None:
            others.add(stretches)
        else:
            named.add(text)
    return named, others


def _cover(paths: Collection[tuple[str, ...]]) -> Iterable[str]:
    """A few texts that cover all paths, each about as rare as the best text of its path."""
    on: dict[str, set[tuple[str, ...]]] = {}
    for path in paths:
        enough = min(ENOUGH, _best(path))
        for text in {part for stretch in path for part in _parts(stretch)}:
            if strength(text) >= enough:
                on.setdefault(text, set()).add(path)
    order = sorted(on, key=lambda text: (-strength(text), text))
    while order:
        best = max(order, key=lambda text: len(on[text]))
        yield best
        covered = on[best].copy()
        for text in order:
            on[text] -= covered
        order = [text for text in order if on[text]]


def _parts(stretch: str) -> Iterable[str]:
    """The stretch, and what remains of it when whole words are cut off at either end."""
    cuts = [0, *(m.start() for m in _WORD.finditer(stretch)), len(stretch)]
    cuts += [m.end() for m in _WORD.finditer(stretch)]
    return {stretch[i:j] for i in cuts for j in cuts if i < j} | {stretch}


def _best(path: Iterable[str]) -> float:
    return max(map(strength, path))


def _alternatives(items: Any, flags: int) -> Iterable[tuple[Any, int]]:
    """(items, flags) of the outermost alternatives of a pattern."""
    if len(items) == 1:
        name, value = items[0]
        if name is op.BRANCH:
            for branch in value[1]:
                yield from _alternatives(branch, flags)
            return
        if name is op.SUBPATTERN:
            _, added, removed, inner = value
            yield from _alternatives(inner, (flags | added) & ~removed)
            return
    yield items, flags


class _Walk:
    """Finds the paths through parts of a parsed pattern."""

    def __init__(self, narrow: Sequence[str], *, detailed: bool) -> None:
        self._narrow = narrow
        self._detailed = detailed
        """An optional part gives paths with and without it; if not detailed it is a gap."""

    def sequence(self, items: Any, flags: int) -> Paths:
        paths = _NOTHING
        for name, value in items:
            paths = self._behind(paths, self._item(name, value, flags))
        return paths

    def _item(self, name: Any, value: Any, flags: int) -> Paths:
        if name is op.LITERAL:
            return _char(value, flags)
        if name is op.IN:
            return _class(value, flags)
        if name is op.BRANCH:
            return frozenset[str]().union(*(self.sequence(b, flags) for b in value[1]))
        if name is op.SUBPATTERN:
            _, added, removed, inner = value
            return self.sequence(inner, (flags | added) & ~removed)
        if name in (op.MAX_REPEAT, op.MIN_REPEAT) or name.name == "POSSESSIVE_REPEAT":
            least, most, inner = value
            return self._repeat(least, most, inner, flags)
        if name.name == "ATOMIC_GROUP":
            return self.sequence(value, flags)
        if name in (op.AT, op.ASSERT, op.ASSERT_NOT):
            return _NOTHING
        return _ANYTHING

    def _repeat(self, least: int, most: int, inner: Any, flags: int) -> Paths:
        if least == 0 and (most != 1 or not (self._detailed or len(inner) == 1)):
            return _ANYTHING
        once = self.sequence(inner, flags)
        if least == 0:
            return once if GAP in once else once | _NOTHING
        if once == _ANYTHING:
            return once
        paths = once
        for _ in range(min(least, 4) - 1):
            paths = self._behind(paths, once)
        if most == least <= 4:
            return paths
        paths = self._behind(paths, _ANYTHING)
        # the last repetition is next to what follows; its text is known if there is only one
        return self._behind(paths, once) if len(once) == 1 else paths

    def _behind(self, left: Paths, right: Paths) -> Paths:
        """Every path of one followed by every path of the other; shortened if they are too many."""
        if len(left) * len(right) > MAX_PATHS:
            left, right = (frozenset(GAP + self._told(p) + GAP for p in s) for s in (left, right))
        if len(left) * len(right) > MAX_PATHS:
            if self._worth(left) >= self._worth(right):
                right = _ANYTHING
            else:
                left = _ANYTHING
        return frozenset(a + b for a in left for b in right)

    def _told(self, path: str) -> str:
        """The stretch of a path that makes the best atom."""
        stretches = _SPLIT.split(path)
        asked = (s for s in stretches if any(text in s for text in self._narrow))
        return next(asked, None) or max(stretches, key=strength)

    def _worth(self, paths: Paths) -> float:
        """Strength of the best atom of the weakest path."""
        told = map(self._told, paths)
        return min(
            ENOUGH if any(text in s for text in self._narrow) else min(ENOUGH, strength(s)) - 1
            for s in told
        )


def _char(code: int, flags: int) -> Paths:
    char = chr(code)
    if char.isdigit():
        return _ANYTHING
    if char.isascii() or not flags & op.SRE_FLAG_IGNORECASE:
        return frozenset([fold(char)])
    return frozenset([char]) if char.lower() == char.upper() else _ANYTHING


def _class(items: Any, flags: int) -> Paths:
    chars: set[str] = set()
    for name, value in items:
        if name is op.LITERAL:
            chars |= _char(value, flags)
        elif name is op.RANGE and value[1] - value[0] < MAX_CHARS:
            for code in range(value[0], value[1] + 1):
                chars |= _char(code, flags)
        else:
            return _ANYTHING
    return frozenset(chars) if len(chars) <= MAX_CHARS and GAP not in chars else _ANYTHING
