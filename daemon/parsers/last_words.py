"""What the end of a log says about the end of its program.

Read once, when the program is gone, from the last lines that the reader keeps. It needs no grammar
of metrics, only two things that all programs have in common:

- A loop writes lines of the same shapes again and again. Lines of a shape that never came while the
  loop ran, and that come after its last line, are the *closing* lines: the program had left its
  loop. In such a strict place, loose words are enough to understand them.
- A counter ("12/40", "12 of 40", "30%") grows from line to line and its total stays the same. One
  that begins anew (batches) is inside of one that does not (epochs). The program has reached its
  plan when the outermost counter is at its total, and those inside are at theirs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

from middlewatch.sentinels.kit.last_words import Farewell, LastWords
from middlewatch.sentinels.kit.observations import ProcessEnded

from .closing_lines import begins, closes, without_shell
from .farewells import ENDS, MEASURE, RESULTS, STOPS, shape_of_text
from .last_block import is_frame
from .last_error import ending_of, troubled

LEAST = 3
"""So many lines of one shape are a loop: two similar lines may stand in any text."""
SMALL_TOTAL = 20
"""Up to this total, a counter one below it is believed to be at its end only if it began with 0:
epoch 2 of 3 is far from the end, step 199 of 200 is not."""
OVER = 2
"""A counter is over after this many times the most lines that ever were between two of its values. Our
choice: the last epoch may be followed by an evaluation as long as itself."""
MOST_OF_UNIT = 0.9
"""Part of the usual number of lines that the last epoch must have, to be complete."""
SHOWN = 3
"""Closing lines kept."""

_BAR = re.compile(
    r"\d+%\s?\||\d+/\S+ \[\d|\bit/s\b|\bs/it\b|[\u2501\u2578\u257a\u2588-\u258f]{2}|/step\b"
    r"|^[\u2800-\u28ff] .*?\d+/\d+"  # the spinner of Rich and others, with its count
)
_COUNTER = re.compile(
    r"(?<![\w./-])(?P<n>\d{1,12})\s?(?:/|\bof\b|\bout of\b|\u5171|\u4e2d)\s?(?P<of>\d{1,12})(?![\w/-])(?!\.\d)"
    r"|(?<![\w./-])(?P<percent>\d{1,3})(?:\.\d+)?\s?%"
)
_ITS_OWN = re.compile(
    r"(?i)\b(?:train\w*|epochs?|ep|steps?|iter\w*|it|loss|batch\w*|updates?)\b|\u8bad\u7ec3|\u8f6e"
)
"""The label of a bar that counts the training; other bars count files, weights, an evaluation."""


_RECORD = re.compile(r"^\{(?:['\"]\w[^{}]{0,60}: [^{}]{1,80}, ){2,99}['\"]\w[^{}]{1,120}\}$")
"""A dictionary that is printed alone: the best parameters, the last metrics."""
_LEFT = re.compile(
    r"(?i)\b(?:eta|remaining|time left)\W{1,3}(?P<time>\d{1,4}(?::\d\d){1,2})(?![\d:])"
)
_COUNTED = re.compile(
    r"(?i)\b(?:steps?|epochs?|iter(?:ation)?s?|updates?|rounds?)\W{0,3}(?P<n>\d{1,12})\s?(?:/|of|out of)\s?(?P<of>\d{1,12})(?![\w.])"
)
NEARLY = 0.9
"""Part of a total from which it counts as reached."""
RAN_OUT = re.compile(
    r"(?i)\bran out of (?:data|samples|batches)\b|\bcan ?not provide data any ?more\b|\bnot (?:to )?be a single sample\b"
    r"|\bno training batches\b|\b(?:data(?:set|loader)?|stream|iterator|loader|generator|corpus)\b.{0,30}\b(?:exhausted|depleted|used up|ran dry)\b"
    r"|\bout of (?:training )?data\b|\bno (?:more|further) (?:training )?(?:data|samples|batches)\b"
)
"""Words of Hugging Face's Trainer, Ignite, Keras, Lightning, and of loops of one's own."""
LATE = 40
"""Last lines in which they are looked for."""


@dataclass(slots=True)
class _Counter:
    """One counter of the loop: where its values stood, oldest first."""

    of: float
    values: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """Indices of its lines."""
    head: bool = True
    """Its lines hold no measures: they come before what they count."""

    @property
    def begins_anew(self) -> bool:
        """It is inside of another one."""
        return any(b < a for a, b in pairwise(self.values))

    def is_over(self, lines: int) -> bool:
        """True when the loop went on without it, for longer than it ever paused: it counted something
        else, an evaluation or the files of a download."""
        longest = max((b - a for a, b in pairwise(self.lines)), default=lines)
        return lines - 1 - self.lines[-1] > OVER * longest

    @property
    def at_end(self) -> bool:
        """At its total, or not one usual step below it."""
        last, gaps = (
            self.values[-1],
            sorted(b - a for a, b in pairwise(self.values) if b > a),
        )
        if last >= self.of:
            return True
        step = gaps[len(gaps) // 2] if gaps else 1.0
        from_zero = min(self.values) == 0
        if self.of <= SMALL_TOTAL or len(gaps) < LEAST:
            return from_zero and last >= self.of - step
        return last >= self.of - max(step, 1.0)


class Log(Protocol):
    """What is needed of a reader (:class:`.reader.LogReader` is one)."""

    @property
    def bytes(self) -> int:
        """Bytes fed so far."""
        ...

    @property
    def tail(self) -> list[tuple[int, str]]:
        """(number, text) of its last lines."""
        ...


def hear(
    known: dict[str, LastWords], logs: Mapping[str, Log], endings: Iterable[ProcessEnded]
) -> None:
    """Once the main process is gone: bring what is known of each log up to date."""
    if not any(ending.main for ending in endings):
        return
    for path, log in logs.items():
        if path not in known or known[path].bytes != log.bytes:
            known[path] = replace(last_words(log.tail), bytes=log.bytes)


def last_words(tail: Sequence[tuple[int, str]]) -> LastWords:
    """What the newest lines of a log, (number, text), say about the end of its program."""
    tail = without_shell(tail)
    texts = [text.strip() for _, text in tail if text.strip() and not is_frame(text)]
    newest = tail[-1][0] if tail else 0
    if not texts:
        return LastWords()
    shapes = [shape_of_text(text) for text in texts]
    loop_end = _loop_end(texts, shapes)
    closing = _new(texts, shapes, loop_end)
    if loop_end < 0:
        closing = closing[-SHOWN:]  # without a loop nothing says that it was left before
    kind, said = _farewell(closing)
    if not kind and loop_end >= 0 and _BAR.search(texts[loop_end]):
        # a bar is drawn once more when it is closed, after the words about its end
        before = _loop_end(texts[:loop_end], shapes[:loop_end])
        earlier = _new(texts[:loop_end], shapes[:loop_end], before)
        kind, said = _farewell([line for line in earlier if STOPS.search(line)])
    if not kind and closes(texts):
        kind, said = "end", texts[-1]
    elif begins(texts[-1]):
        kind, said = "", ""
    of_loop = set(shapes[: loop_end + 1])
    reached, counted = _reached(texts[: loop_end + 1], shapes[: loop_end + 1])
    if begins(texts[-1]):
        reached = reached and None  # the next part was to come
    return LastWords(
        last_line=texts[-1][:200],
        line=newest,
        closing=tuple(line[:200] for line in closing[:SHOWN]),
        reached=reached,
        counted=counted,
        short_of=_short_of(said) if kind == "end" else None,
        ran_out=_ran_out(texts, shapes, of_loop),
        **{"farewell": kind, "said": said[:200], **ending_of(tail, of_loop)},
    )


def _short_of(said: str) -> tuple[float, float] | None:
    """(count, total) of the steps or epochs in a line that says that all is done, if these are far apart."""
    match = _COUNTED.search(said)
    if match is None:
        return None
    count, total = float(match["n"]), float(match["of"])
    return (count, total) if 0 < count < NEARLY * total else None


def _ran_out(texts: Sequence[str], shapes: Sequence[str], of_loop: set[str]) -> str:
    """The line that says that there were no data any more, once, unless the loop went on after it."""
    for place in range(len(texts) - 1, max(-1, len(texts) - 1 - LATE), -1):
        if RAN_OUT.search(texts[place]):
            if shapes.count(shapes[place]) > 1:
                return ""  # it says so at the end of every epoch
            after = zip(texts[place + 1 :], shapes[place + 1 :], strict=True)
            went_on = sum(shape in of_loop and not _BAR.search(text) for text, shape in after)
            return texts[place][:200] if went_on <= 1 else ""
    return ""


def _new(texts: Sequence[str], shapes: Sequence[str], loop_end: int) -> list[str]:
    """The lines after the loop whose shape did not come before."""
    of_loop = set(shapes[: loop_end + 1])
    after = zip(texts[loop_end + 1 :], shapes[loop_end + 1 :], strict=True)
    return [text for text, shape in after if shape not in of_loop]


def _loop_end(texts: Sequence[str], shapes: Sequence[str]) -> int:
    """Index of the last line of the loop; -1 without a loop.

    A bar belongs to it, and the most usual shape with a number in it, which spans most of the text.
    """
    bars = [i for i, text in enumerate(texts) if _BAR.search(text)]
    places: dict[str, list[int]] = defaultdict(list)
    for i, shape in enumerate(shapes):
        if "0" in shape:
            places[shape].append(i)
    loops = [found for found in places.values() if len(found) >= LEAST]
    usual = max(loops, key=len, default=[])
    # lines that go on beside it belong to the loop as well; a table after its end begins later
    beside = [found[-1] for found in loops if usual and found[0] <= usual[len(usual) // 2]]
    return max([*beside, *bars[-1:]], default=-1)


def _farewell(closing: Sequence[str]) -> tuple[Farewell, str]:
    for kind, words in (("stop", STOPS), ("end", ENDS), ("results", RESULTS), ("results", _RECORD)):
        for line in closing:
            if words.search(line) and not troubled(line) and not _still_counts(line):
                return kind, line  # type: ignore[return-value]
    return "", ""


def _still_counts(line: str) -> bool:
    """True for "patience 2/5": something is counted that has not come yet."""
    match = _COUNTER.search(line)
    return (
        match is not None
        and match["n"] is not None
        and float(match["n"]) < float(match["of"])
        and re.search(r"(?i:counter|patience|wait)", line) is not None
    )


def _reached(
    texts: Sequence[str], shapes: Sequence[str]
) -> tuple[bool | None, tuple[float, float] | None]:
    """(whether the plan was reached, the outermost counter and its total); ``None``: not known."""
    outer, moving = _moving(texts, shapes)
    if not outer:
        return (True, None) if _time_ran_out(texts, shapes) else _by_bar(texts[-1] if texts else "")
    # the outermost of those that never begin anew is the one that goes on for longest
    top = max(outer, key=lambda c: (c.lines[-1] - c.lines[0], -c.of))
    inner = [c for c in moving if c.begins_anew and c.lines[-1] >= top.lines[-1]]
    counted = (top.values[-1], top.of)
    if not top.at_end or not all(c.at_end for c in inner):
        return False, counted
    if top.head and not inner and not _whole_unit(top, len(texts)):
        return False, counted
    return True, counted


def _moving(texts: Sequence[str], shapes: Sequence[str]) -> tuple[list[_Counter], list[_Counter]]:
    """The counters that never begin anew and are not over, and all that move. Lines of one shape share theirs."""
    found: dict[tuple[str, int, float], _Counter] = {}
    for i, (text, shape) in enumerate(zip(texts, shapes, strict=True)):
        for column, (value, total, rest) in enumerate(_counters(text)):
            one = found.setdefault((shape, column, total), _Counter(total))
            one.values.append(value)
            one.lines.append(i)
            one.head = one.head and not MEASURE.search(rest)
    moving = [c for c in found.values() if len(set(c.values)) > 1]
    return [c for c in moving if not c.begins_anew and not c.is_over(len(texts))], moving


def _time_ran_out(texts: Sequence[str], shapes: Sequence[str]) -> bool:
    """The last report of its kind is the only one that leaves no time: "eta: 0:00:00". The time that a bar or
    an epoch has left is nothing again and again."""
    left: dict[str, list[bool]] = defaultdict(list)
    for text, shape in zip(texts, shapes, strict=True):
        if match := _LEFT.search(text):
            left[shape].append(not match["time"].strip("0:"))
    reports = max(left.values(), key=len, default=[])
    return len(reports) >= LEAST and reports[-1] and not any(reports[:-1])


def _counters(text: str) -> list[tuple[float, float, str]]:
    """(value, total, the text around it) of the counters in a line; a percentage counts only where
    no number of things is given."""
    matches = list(_COUNTER.finditer(text))
    if any(m["n"] for m in matches):
        matches = [m for m in matches if m["n"]]
    found = []
    for m in matches:
        value, total = (float(m["n"]), float(m["of"])) if m["n"] else (float(m["percent"]), 100.0)
        if total >= 2 and value <= total:
            found.append((value, total, text[: m.start()] + text[m.end() :]))
    return found


def _by_bar(text: str) -> tuple[bool | None, tuple[float, float] | None]:
    """The same by a bar, of which only the newest state is kept: all its counters."""
    if not _BAR.search(text):
        return None, None
    label = re.split(r"\d+%|\d+/\d+ ?\[|[\u2501\u2578\u257a\u2588-\u258f]", text, maxsplit=1)[0]
    counters = _counters(text)
    if not counters or (re.search(r"[^\W\d_]", label) and not _ITS_OWN.search(label)):
        return None, None
    return all(n >= of for n, of, _ in counters), counters[0][:2]


def _whole_unit(head: _Counter, lines: int) -> bool:
    """After the last head came as many lines as usually come after one."""
    firsts = [
        line
        for i, (line, value) in enumerate(zip(head.lines, head.values, strict=True))
        if i == 0 or value != head.values[i - 1]
    ]
    gaps = sorted(b - a for a, b in pairwise(firsts))
    usual = gaps[len(gaps) // 2] if gaps else 1
    return lines - firsts[-1] >= MOST_OF_UNIT * usual
