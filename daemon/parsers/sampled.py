"""Reads a finished log of gigabytes: in full where anything happens, and by samples where nothing does.

A log of 10 GB holds a hundred million reports, and to read and judge each of them takes hours. Most of them say
what the thousand before them said. So once a form of report has come :data:`FULL` times, its further lines are read
in bulk: every loss and every norm of a gradient is compared with the range in which it was lately, and of the reports
within that range one in so many goes on to be judged. What leaves the range goes on together with its neighbours,
and so does whatever stands near an event or a line of a new form. The beginning of a log and its last
:data:`END_BYTES` are read in full.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any, NamedTuple

from middlewatch.sentinels.kit import Observation
from middlewatch.sentinels.kit.metric_keys import fold, is_loss

from .lines import Where
from .numbers.plans import LinePlan, pattern_for
from .reader import LogReader
from .shape_facts import ROW, UNSEEN
from .shapes import has_art, shape_of, zeroed

FULL = 25_000
"""Reports of one form that are all read; of the next so many one in two, then one in three, and so on. Our choice:
it is more than most runs ever print, and of a hundred million reports it leaves a quarter of a million."""
FORMS = 500
"""Forms that are known at a time."""
END_BYTES = 1 << 20
"""Bytes at the end of a log that are read in full (our choice: some ten thousand reports)."""
BLOCK_BYTES = 64 << 10
"""What is read in bulk at a time: it stays in the caches of a core (measured: a MiB takes a quarter more time)."""
LEAST = 50
"""Lines of a block that is worth reading in bulk."""
BEFORE, AFTER = 50, 200
"""Reports before and after one that leaves its range that go on with it. Rules that want a trouble confirmed ask
for the next tens of reports."""
NEAR, NEAR_KNOWN = (100, 100), (1, 0)
"""Lines before and after an event, or a line of a new form, that are read in full; and before and after a save or a
phase, which come again and again: the report before it has its step."""
RANGES, ROOM = 8, 0.25
"""Blocks by which the range of a measure is known, and the part of its width that is added on either side: a loss that
falls smoothly leaves its range all the time. Of 77 troubles in other people's curves 71 are found in full reading,
and 70 by samples with these two, 69 with 32 and 0.5 (:data:`FULL` set to 600, 80,000 and 97,000 of 402,000 reports left out)."""


class SampledReader(LogReader):
    """A reader of finished logs that leaves out most reports of long, uneventful stretches.

    Its line numbers, its last lines and its events are those of :class:`.reader.LogReader`. It holds the newest
    :data:`END_BYTES` back until more comes, or the end.
    """

    def __init__(self, file: str, rank: int | None = None, *, shape_bytes: int) -> None:
        super().__init__(file, rank, shape_bytes=shape_bytes)
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._sampling = False
        self._forms: dict[bytes, _Form] = {}
        """By the shape of their lines."""
        self._unread: tuple[int, bytes] | None = None
        """The report at the end of the block before, with the number of its line, if it was left out."""
        self._after = 0
        """So many of the next lines are read in full, as something happened right before them."""

    def feed(self, data: bytes, now: float) -> list[Observation]:
        """The observations in what came before the last :data:`END_BYTES`. ``now``: epoch seconds."""
        said: list[Observation] = []
        self._held.append(data)
        self._held_bytes += len(data)
        self._sampling = True
        while self._held_bytes - len(self._held[0]) >= END_BYTES:
            said += self._next(now)
        return said

    def finish(self, now: float) -> list[Observation]:
        """The observations in all that was held back, and in a last line without its newline."""
        said: list[Observation] = []
        self._sampling = False
        while self._held:
            said += self._next(now)
        return said + super().finish(now)

    def _next(self, now: float) -> list[Observation]:
        data = self._held.popleft()
        self._held_bytes -= len(data)
        size = BLOCK_BYTES if self._sampling else len(data) or 1
        blocks = (data[at : at + size] for at in range(0, len(data), size))
        return [one for block in blocks for one in super(SampledReader, self).feed(block, now)]

    def _read(
        self,
        pieces: list[bytes],
        text: bytes,
        first: int,
        place: Where | None,
        now: float,
        said: list[Observation],
    ) -> None:
        count = len(pieces)
        chosen: list[int] | None = None
        last = 0
        if self._sampling and place is None and count >= LEAST and not self._tracebacks.active:
            shapes = zeroed(text).split(b"\n")[:count]
            chosen, last = self._chosen(text, shapes)
        if self._unread is not None and (chosen is None or chosen[:1] == [0]):
            number, piece = self._unread
            self.left_out -= 1
            super()._read([piece], piece, 0, lambda _: (number, True), now, said)
        self._unread = None
        if chosen is None:
            self._after = max(0, self._after - count)
            super()._read(pieces, text, first, place, now, said)
            return
        if last not in chosen:
            self._unread = first + last, pieces[last]
        part = [pieces[i] for i in chosen]
        numbers = [first + i for i in chosen]
        super()._read(part, b"\n".join(part), 0, lambda i: (numbers[i], True), now, said)

    def _chosen(self, text: bytes, shapes: list[bytes]) -> tuple[list[int] | None, int]:
        """(the lines of a block that are read one by one, ``None``: all; its last report), by their place in it."""
        every = Counter(shapes)
        kinds = self._kinds(every)
        counts: Counter[_Form] = Counter()
        for shape, times in every.items():
            if shape in kinds.forms:
                counts[kinds.forms[shape]] += times
        if all(form.every == 1 for form in counts):
            for form, times in counts.items():
                form.reports += times
            return None, 0
        chosen, last = set(range(self._after)), 0
        after = self._after - len(shapes)
        for i in compress(range(len(shapes)), map(kinds.near.__contains__, shapes)):
            before, beyond = kinds.near[shapes[i]]
            chosen.update(range(i - before, i + beyond + 1))
            after = max(after, i + beyond + 1 - len(shapes))
        for form, times in counts.items():
            lines = _lines_of(form, times, kinds, shapes)
            outside = form.outside(text, times) if form.every > 1 else ()
            if outside is None:
                return None, 0
            chosen.update(lines[-form.reports % form.every :: form.every])
            last = max(last, lines[-1])
            for one in outside:
                chosen.update(lines[max(0, one - BEFORE) : one + AFTER])
                after = max(after, one + AFTER - len(lines))
            form.reports += times
        self._after = max(0, after)
        order = sorted(i for i in chosen if 0 <= i < len(shapes))
        self.left_out += counts.total() - sum(shapes[i] in kinds.forms for i in order)
        return order, last

    def _kinds(self, shapes: Iterable[bytes]) -> _Kinds:
        kinds = _Kinds({}, {})
        for shape in shapes:
            known = self._lines.known.get(shape, UNSEEN)
            if known is UNSEEN and shape:
                known = self._shapes.known.get(shape_of(shape), UNSEEN)
                if known is UNSEEN:
                    kinds.near[shape] = NEAR
                    continue
                self._lines.remember(shape, known)
            if known is None or known is ROW or known is UNSEEN:
                continue
            plan = None if known.report is None or not known.report.plain else known.plan
            form = None if plan is None else self._form(plan)
            if form is not None:
                kinds.forms[shape] = form
            else:
                kinds.near[shape] = NEAR if known.rows or known.trace else NEAR_KNOWN
        return kinds

    def _form(self, plan: LinePlan) -> _Form | None:
        """The form of these reports; ``None`` for those of many ranks, which are always read."""
        if any(name == "rank" for name, *_ in plan.fields):
            return None
        shape = shape_of(plan.example)
        form = self._forms.get(shape)
        if form is None:
            if len(self._forms) >= FORMS:
                self._forms.clear()  # the reports of each are read in full once more
            form = self._forms[shape] = _Form(plan)
        return form


class _Kinds(NamedTuple):
    """What is known about the shapes of the lines of a block. Others have no news."""

    forms: dict[bytes, _Form]
    near: dict[bytes, tuple[int, int]]
    """Those that are read one by one, with so many lines before and after them."""


class _Form:
    """Reports of one form: how they are read in bulk, and how many there were."""

    def __init__(self, plan: LinePlan) -> None:
        self.reports = 0
        names = {index: name for name, index, _, _ in plan.fields}
        watched = [index for index, name in sorted(names.items()) if _is_watched(name)]
        self._finds: list[Callable[[bytes], list[Any]]] = []
        """Two ways to find the watched numbers in a text: by what stands around them, which may stand in other
        lines too, and by the whole line."""
        whole = None if has_art(plan.example) else pattern_for(plan, watched)
        if whole is not None:
            self._finds = [re.compile(b"(?m)^" + whole + b"$").findall]
            around = pattern_for(plan, watched, part=True) if watched and not plan.fixed else None
            quick = None if around is None else re.compile(around).findall
            # What stands around the numbers may stand around others of the same line as well.
            if quick is not None and quick(plan.example) == self._finds[0](plan.example):
                self._finds.insert(0, quick)
        self._ranges = [_Range() for _ in watched]

    @property
    def every(self) -> int:
        """One in so many of its reports goes on."""
        return 1 + self.reports // FULL if self._finds else 1

    def outside(self, text: bytes, count: int) -> Sequence[int] | None:
        """Which of the ``count`` reports in this text left the range of a measure, by their place among them;
        ``None`` where they cannot be read in bulk."""
        if not self._finds or not self._ranges:
            return ()
        rows = next((rows for find in self._finds if len(rows := find(text)) == count), None)
        if rows is None:
            return None
        columns: Iterable[Iterable[bytes]] = (
            [rows] if len(self._ranges) == 1 else zip(*rows, strict=True)
        )
        found: set[int] = set()
        for one, column in zip(self._ranges, columns, strict=True):
            found.update(one.outside(list(column)))
        return sorted(found)


class _Range:
    """Where a measure was in the newest blocks."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=RANGES)
        self._reports = 0
        """Reports of which the newest of these is the range."""

    def outside(self, numbers: list[bytes]) -> Sequence[int]:
        """Places of the numbers that left the range; all of them while no range is known."""
        form = zeroed(numbers[0])
        if form.strip(b"0") in (b"", b".") and zeroed(b"".join(numbers)) == form * len(numbers):
            # Digits in the same places in all of them: their texts are ordered as they are, and need no float.
            values, low, high = [], float(min(numbers)), float(max(numbers))
        else:
            values = list(map(float, numbers))
            low, high = min(values), max(values)
        if not self._seen:
            self._seen.append((low, high))
            self._reports = len(numbers)
            return range(len(numbers))
        lowest, highest = min(a for a, _ in self._seen), max(b for _, b in self._seen)
        room = ROOM * (highest - lowest)
        lowest, highest = lowest - room, highest + room
        if self._reports >= LEAST:
            self._seen.append((low, high))
            self._reports = 0
        else:
            self._seen[-1] = (min(low, self._seen[-1][0]), max(high, self._seen[-1][1]))
        self._reports += len(numbers)
        if lowest <= low and high <= highest:
            return ()
        values = values or list(map(float, numbers))
        return [i for i, value in enumerate(values) if not lowest <= value <= highest]


def _is_watched(name: str) -> bool:
    return name in ("train_loss", "eval_loss", "grad_norm") or is_loss(fold(name))


def _lines_of(form: _Form, count: int, kinds: _Kinds, shapes: list[bytes]) -> Sequence[int]:
    """Places of the reports of this form in the block."""
    if count == len(shapes):
        return range(count)
    own = {shape for shape, one in kinds.forms.items() if one is form}
    return list(compress(range(len(shapes)), map(own.__contains__, shapes)))
