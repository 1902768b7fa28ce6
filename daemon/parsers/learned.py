"""Reports in words that nobody knows, by how their numbers behave: a counter counts.

``ronda 12  rmse del lote 2.18`` names nothing that is known here. But when lines of one form come again
and again, and a whole number in them grows by the same amount each time while another number beside it
changes, then the first is the step, and the other a measure. It is learned only while a log has no report
that can be read by its words: those say more.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise

from middlewatch.sentinels.kit import Step
from middlewatch.sentinels.kit.metric_keys import canonical, fold

from .numbers.prefixes import without_times
from .text import decode, plain

LINES = 4
"""Lines of one form by which its counter is known (our choice: three may be a table)."""
FORMS = 32
"""Forms that are followed; the older half is dropped when there are more."""
WIDE = 300
"""Characters of a line."""
MOST_NUMBERS = 24
MOST_BYTES = 16 * 1024
"""A larger piece is a backlog or the dump of something."""
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\d)|(?:nan|inf)(?!\w))",
    re.IGNORECASE,
)
_NAME = re.compile(r"([^\W\d][\w/ -]{0,40}?)[\s:=|()\[\]]*$")
_WHOLE = re.compile(r"[-+]?\d+$")


@dataclass(slots=True)
class _Form:
    """The newest lines of one form: the numbers of each."""

    rows: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=LINES))
    counter: int = -1
    """The column that counts; -1 while it is not known."""


class LearnedReports:
    """Finds the reports of one log that have no known word."""

    def __init__(self) -> None:
        self._forms: dict[str, _Form] = {}
        self._rest = b""

    def feed(self, data: bytes, file: str, number: int, now: float) -> list[Step]:
        """The reports in new text. ``number``: of the last line complete with it."""
        if len(data) > MOST_BYTES:
            self._rest = b""
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-MOST_BYTES:]
        told = (
            self.read(line.rpartition(b"\r")[2], file, number - len(lines) + place, now)
            for place, line in enumerate(lines, 1)
        )
        return [step for step in told if step is not None]

    def read(self, line: bytes, file: str, number: int, now: float) -> Step | None:
        """The report in this line, once the counter of its form is known.

        ``number``: of the line; ``now``: epoch seconds.
        """
        text = without_times(plain(decode(line), WIDE))
        found = list(_NUMBER.finditer(text))
        if not 2 <= len(found) <= MOST_NUMBERS:
            return None
        whole = tuple(_WHOLE.match(m[0]) is not None for m in found)
        if all(whole) or not any(whole):
            return None
        form = self._form(" ".join(_NUMBER.sub("#", text).split()) + str(whole))
        row = tuple(float(m[0]) for m in found)
        form.rows.append(row)
        if form.counter < 0:
            form.counter = _counter(list(form.rows), whole)
        if form.counter < 0:
            return None
        values: dict[str, float] = {}
        before = 0
        for match, value, is_whole in zip(found, row, whole, strict=True):
            name = "" if is_whole else _name(text[before : match.start()])
            before = match.end()
            if name and name not in values:
                values[name] = value
        proof = "" if all(map(math.isfinite, values.values())) else text.strip()
        return Step(now, row[form.counter], values, file=file, line=number, text=proof)

    def _form(self, key: str) -> _Form:
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= FORMS:
                for old in list(self._forms)[: FORMS // 2]:
                    del self._forms[old]
            form = self._forms[key] = _Form()
        return form


def _counter(rows: list[tuple[float, ...]], whole: tuple[bool, ...]) -> int:
    """The first whole number that grows by the same amount each time, if a measure changes beside it."""
    if len(rows) < LINES:
        return -1
    if not any(
        len({row[i] for row in rows}) > 1 for i, is_whole in enumerate(whole) if not is_whole
    ):
        return -1
    for column, is_whole in enumerate(whole):
        steps = {b[column] - a[column] for a, b in pairwise(rows)}
        if is_whole and len(steps) == 1 and min(steps) > 0:
            return column
    return -1


def _name(before: str) -> str:
    match = _NAME.search(before[-60:])
    key = " ".join(match[1].split()) if match else ""
    return canonical(fold(key)) or key
