"""Read the numbers of lines of a known shape directly from their bytes.

There are three ways, each tried when the one before does not fit: a pattern made for the shape,
which matches all numbers at once; the numbers of the line by their position; and the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ..shapes import ART, has_art
from .fields import Field, Reading, Values, evaluate, parse_number, read, sorted_out

_TOKEN = re.compile(rb"[0-9]+(?:[.,][0-9]+)*(?:[eE][-+]?[0-9]+)?")
_TEXT_TOKEN = re.compile(_TOKEN.pattern.decode())
_PLAIN = re.compile(rb"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_IN_KEY = re.compile(r"[^\W\d][\w.@(-]*$|[@(]$")
_DIGITS = re.compile(rb"[0-9]+")
_ANY_ART = b"(?:" + ART.pattern + b")"

PATTERN_AFTER = 24
"""Lines of a shape after which a pattern is made for it. Making one takes as long as reading some
hundred lines without it."""
PATTERN_BYTES = 1500
"""Bytes: for longer lines no pattern is made."""


Read = Callable[[bytes], "Values | None"]
_COUNTS = ("step", "epoch", "total", "of", "rank")


@dataclass(slots=True)
class LinePlan:
    """Reads the fields of every line of one shape by the position of its numbers."""

    tokens: int
    """How many numbers a line of the shape has."""
    fields: list[tuple[str, int, float, Reading]]
    """(name, index of the number among the line's numbers, factor with sign, reading)"""
    constants: dict[str, float] = field(default_factory=dict)
    """Fields with a value that is part of the shape: nan and inf."""
    fixed: list[tuple[int, bytes]] = field(default_factory=list)
    """(index, number) of the numbers within keys, which must stay the same."""
    parts: bool = False
    """Some fields are parts of ``train_loss``."""
    comma: bool = False
    """Commas are decimal points."""
    example: bytes = b""
    """A line of the shape."""
    _lines: int = 0
    _at_once: Read | None = None

    def read(self, line: bytes) -> Values | None:
        """The values of a line; ``None`` when its numbers do not fit the plan."""
        if self._at_once is not None:
            values = self._at_once(line)
            if values is not None:
                return values
        elif self._lines <= PATTERN_AFTER:
            self._lines += 1
            if self._lines == PATTERN_AFTER:
                self._at_once = _reader_for(self)
        return self.read_by_position(line)

    def read_by_position(self, line: bytes) -> Values | None:
        """The same by the position of the numbers, whatever stands between them."""
        tokens = _TOKEN.findall(line)
        if len(tokens) != self.tokens:
            return None
        for index, token in self.fixed:
            if tokens[index] != token:
                return None
        found = self.constants.copy()
        try:
            for name, index, factor, reading in self.fields:
                token = tokens[index]
                if b"," in token:
                    token = token.replace(b",", b".") if self.comma else _without_thousands(token)
                value = float(token) * factor
                if reading == "plain":
                    found[name] = value
                elif value > 0 or reading != "inverse":
                    found[name] = read(value, 1.0, reading)
        except ValueError:
            return None
        if self.parts:
            return sorted_out(found)
        return _values(found)


def _values(found: dict[str, float]) -> Values:
    """Values with the counters separate from all other fields."""
    pop = found.pop
    # A named tuple made by its own constructor takes three times as long (measured).
    return tuple.__new__(
        Values,
        (
            pop("step", None),
            pop("epoch", None),
            pop("total", None),
            pop("of", None),
            pop("rank", None),
            found,
        ),
    )


def _without_thousands(token: bytes) -> bytes:
    head, *groups = token.partition(b".")[0].split(b",")
    if len(head) > 3 or head == b"0" or any(len(g) != 3 for g in groups):
        raise ValueError(token)
    return token.replace(b",", b"")


def plan_for(text: str, fields: list[Field]) -> LinePlan | None:
    """A plan that reads ``text`` with the same result as :func:`evaluate`, or ``None``."""
    starts = {m.start(): i for i, m in enumerate(_TEXT_TOKEN.finditer(text))}
    plan = LinePlan(
        len(starts),
        [],
        parts=any(f.name.startswith("+") for f in fields),
        comma=any(f.comma for f in fields),
    )
    seen: set[str] = set()
    for f in fields:
        if f.name in seen:
            continue
        seen.add(f.name)
        number = text[f.start : f.end]
        sign = -1.0 if number.startswith("-") else 1.0
        at = f.start + (number[0] in "+-")
        if at in starts:
            plan.fields.append((f.name, starts[at], sign * f.factor, f.reading))
        elif "n" in number.lower():
            plan.constants[f.name] = read(parse_number(number), f.factor, f.reading)
        else:
            return None
    if any(f.numbered for f in fields):
        read_here = {index for _, index, _, _ in plan.fields}
        plan.fixed = [
            (index, m.group().encode())
            for index, m in enumerate(_TEXT_TOKEN.finditer(text))
            if index not in read_here and _IN_KEY.search(text, max(0, m.start() - 40), m.start())
        ]
    plan.example = text.encode("utf-8", "surrogateescape")
    same = _same(plan.read_by_position(plan.example), evaluate(text, fields))
    return plan if same else None


def _same(a: Values | None, b: Values) -> bool:
    """Whether two results are equal, with nan equal to nan."""
    return a is not None and _comparable(a) == _comparable(b)


def _comparable(v: Values) -> str:
    return repr((v.step, v.epoch, v.total, v.of, v.rank, sorted(v.named.items())))


def pattern_for(plan: LinePlan, groups: Collection[int], *, part: bool = False) -> bytes | None:
    """A pattern for all lines of the shape, with a group for the numbers at these places.

    ``part``: only for that part of the line in which these numbers stand. ``None`` where they need more care
    than ``float``, and for long lines.
    The text between the numbers is the same in all lines, except for the filling of a bar.
    """
    line = plan.example
    kept = dict(plan.fixed)
    if plan.parts or plan.comma or len(line) > PATTERN_BYTES:
        return None
    between = _with_art if has_art(line) else re.escape
    pieces: list[bytes] = []
    at = 0
    for index, match in enumerate(_TOKEN.finditer(line)):
        if part and index > max(groups):
            pieces.append(between(line[at : match.start()]))
            return b"".join(pieces)
        if part and index <= min(groups):
            pieces.clear()
        pieces.append(between(line[at : match.start()]))
        token, at = match.group(), match.end()
        if index in groups:
            if not _PLAIN.fullmatch(token):
                return None
            pieces.append(b"(" + _any_digits(token) + b")")
        else:
            pieces.append(re.escape(token) if index in kept else _any_digits(token))
    pieces.append(between(line[at:]))
    return b"".join(pieces)


def _reader_for(plan: LinePlan) -> Read | None:
    """A function that reads a line with one pattern; ``None`` where the numbers need more care."""
    wanted = {index: (name, factor, reading) for name, index, factor, reading in plan.fields}
    pattern = pattern_for(plan, wanted)
    if not wanted or pattern is None or len(wanted) < len(plan.fields):
        return None
    if any(name in _COUNTS for name in plan.constants):
        return None
    found = [wanted[index] for index in sorted(wanted)]
    whole = re.compile(pattern, re.DOTALL).fullmatch
    names = [name for name, _, _ in found]
    adjusted = [each for each in found if each[1:] != (1.0, "plain")]
    constants = plan.constants

    def read_line(line: bytes) -> Values | None:
        numbers = whole(line)
        if numbers is None:
            return None
        values = dict(zip(names, map(float, numbers.groups())))  # noqa: B905 (one group each)
        for name, factor, reading in adjusted:
            value = values[name] * factor
            if reading != "plain":
                if value <= 0 and reading == "inverse":
                    return None
                value = read(value, 1.0, reading)
            values[name] = value
        if constants:
            values |= constants
        return _values(values)

    return read_line


def _any_digits(token: bytes) -> bytes:
    return b"[0-9]+".join(map(re.escape, _DIGITS.split(token)))


def _with_art(text: bytes) -> bytes:
    """A pattern for text without numbers, in which the filling of a bar may differ."""
    return _ANY_ART.join(map(re.escape, ART.split(text)))
