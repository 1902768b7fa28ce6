"""Lines made from a pattern: every wording that it allows, picked by walking the parsed pattern."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

try:
    from re import _constants as op  # type: ignore[attr-defined, unused-ignore]
    from re import _parser as parser  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # Python 3.10
    import sre_constants as op
    import sre_parse as parser

FILL = "xq Zé,9_-./:"
"""What stands where a pattern takes anything."""
KINDS = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"[ \t]",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
CASES: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper, str.title)


class Wordings:
    """Makes lines; what was chosen seldom so far is chosen first."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._tree: Any = parser.parse(pattern)
        self._search = re.compile(pattern).search
        self._random = random.Random(pattern)
        self._chosen: Counter[tuple[int, int]] = Counter()
        self._case = CASES[0]
        self._groups: dict[int, str] = {}

    def lines(self, tries: int) -> Iterator[str]:
        """Lines that the pattern matches."""
        for i in range(tries):
            self._case = CASES[i % len(CASES)]
            self._groups = {}
            line = self._sequence(self._tree, self._tree.state.flags)
            if self._search(line):
                yield line

    @property
    def arms(self) -> int:
        """Alternatives at any depth."""
        return _arms(self._tree)

    def _sequence(self, items: Any, flags: int) -> str:
        return "".join(self._item(name, value, flags) for name, value in items)

    def _item(self, name: Any, value: Any, flags: int) -> str:
        if name is op.LITERAL:
            return self._char(chr(value), flags)
        if name is op.NOT_LITERAL:
            return self._filling(lambda c: c != chr(value))
        if name is op.ANY:
            return self._filling(lambda _: True)
        if name is op.IN:
            return self._char(self._of_class(value), flags)
        if name is op.BRANCH:
            return self._sequence(self._least_used(value[1], id(value)), flags)
        if name is op.SUBPATTERN:
            group, added, removed, inner = value
            text = self._sequence(inner, (flags | added) & ~removed)
            if group is not None:
                self._groups[group] = text
            return text
        if name in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inner = value
            counts = sorted({least, min(most, least + 1), min(most, least + 3)})
            count = self._least_used(counts, id(value))
            return "".join(self._sequence(inner, flags) for _ in range(count))
        if name is op.GROUPREF:
            return self._groups.get(value, "")
        if name in (op.AT, op.ASSERT, op.ASSERT_NOT):
            return ""
        raise NotImplementedError(name)

    def _least_used(self, choices: Any, where: int) -> Any:
        """Of the choices at one place of the tree."""
        order = list(range(len(choices)))
        self._random.shuffle(order)
        best = min(order, key=lambda i: self._chosen[where, i])
        self._chosen[where, best] += 1
        return choices[best]

    def _char(self, char: str, flags: int) -> str:
        if not flags & op.SRE_FLAG_IGNORECASE:
            return char
        other = self._case(char)
        return other if other.isascii() or len(other) == 1 else char

    def _filling(self, allowed: Any) -> str:
        return self._random.choice([c for c in FILL if allowed(c)])

    def _of_class(self, items: Any) -> str:
        chars, denied = _chars(tuple(items))
        return self._filling(lambda c: c not in chars) if denied else self._random.choice(chars)


@cache
def _chars(items: tuple[Any, ...]) -> tuple[str, bool]:
    """Printable characters that a class names, and whether it means all others."""
    chars: set[str] = set()
    for name, value in items:
        if name is op.LITERAL:
            chars.add(chr(value))
        elif name is op.RANGE:
            chars |= {chr(c) for c in range(value[0], min(value[1], value[0] + 200) + 1)}
        elif name is op.CATEGORY:
            kind = re.compile(KINDS[value.name])
            chars |= {c for c in map(chr, range(256)) if kind.match(c)}
    return "".join(sorted(c for c in chars if c.isprintable() or c == "\t")), items[0][
        0
    ] is op.NEGATE


def _arms(items: Any) -> int:
    found = 0
    for name, value in items:
        if name is op.BRANCH:
            found += sum(1 + _arms(arm) for arm in value[1])
        elif name is op.SUBPATTERN:
            found += _arms(value[3])
        elif name in (op.MAX_REPEAT, op.MIN_REPEAT):
            found += 1 + _arms(value[2])
    return found
