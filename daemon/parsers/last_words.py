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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

from middlewatch.sentinels.kit.last_words import Farewell, LastWords
from middlewatch.sentinels.kit.observations import ProcessEnded

from .tracebacks import split_error

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

_NUMBER = re.compile(r"[-+]?\d[\d,_]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_GLYPHS = re.compile(r"[\u2500-\u259f#=>\s\u2022.|-]+")
_BAR = re.compile(
    r"\d+%\s?\||\d+/\S+ \[\d|\bit/s\b|\bs/it\b|[\u2501\u2578\u257a\u2588-\u258f]{2}|/step\b"
)
_COUNTER = re.compile(
    r"(?<![\w./-])(?P<n>\d{1,12})\s?(?:/|\bof\b|\bout of\b|\u5171|\u4e2d)\s?(?P<of>\d{1,12})(?![\w/-])(?!\.\d)"
    r"|(?<![\w./-])(?P<percent>\d{1,3})(?:\.\d+)?\s?%"
)
_ITS_OWN = re.compile(
    r"(?i)\b(?:train\w*|epochs?|ep|steps?|iter\w*|it|loss|batch\w*|updates?)\b|\u8bad\u7ec3|\u8f6e"
)
"""The label of a bar that counts the training; other bars count files, weights, an evaluation."""
_MEASURE = re.compile(r"\d\.\d|\de-\d|\bnan\b|\binf\b", re.IGNORECASE)

_TROUBLE = re.compile(
    r"(?i:error|exception|\bfail|warn|traceback|killed|\bsig(?:nal|[a-z]{2,5})\b|abort|fatal|\bnan\b|\binf\b|retry"
    r"|denied|cannot|unable|\blost\b|timed out|timeout|corrupt|invalid|refused|unexpected|interrupt|evict|preempt)"
)
_STOPS = re.compile(
    r"(?i:early.?stop|\bstop(?:s|ped|ping)?\b|\bpatience\b|\bhalt|\bconverged\b|\bleaving\b|\bexiting\b|\bquitting\b"
    r"|\b(?:no|without) improvement\b|\b(?:did|has|have)(?: not|n't) improved?\b(?! from)"
    r"|\b(?:time|clock|budget|limit|target|goal|threshold|max\w*)\b.{0,50}\b(?:reached|used|exceeded|met|hit|over|up)\b"
    r"|\b(?:reached|used up|hit)\b.{0,30}\b(?:time|clock|budget|limit|target|goal|threshold|max\w*)\b"
    r"|\bending (?:the )?(?:run|training|loop)|\bfinishing\b|\brestor(?:ing|ed)\b.{0,40}\bbest\b)"
    r"|\u63d0\u524d\u505c\u6b62|\u65e9\u505c"
)
_ENDS = re.compile(
    r"(?i:\bdone\b|\bfinish(?:ed)?\b|\bcomplete[d]?\b|\ball (?:steps|epochs|iterations|rounds)\b|\bfinal\b|\bend of\b"
    r"|\bended\b|\bover\b|\bgood ?bye\b|\bbye\b|\bsuccess(?:ful(?:ly)?)?\b|\btrain_runtime\b|\bbeendet\b|\bfertig\b"
    r"|\btermin[\u00e9oa]|\bfin\b|\bdur\u00e9e totale\b)"
    r"|\u5b8c\u6210|\u7ed3\u675f|\u5b8c\u4e86|\u7d42\u4e86|\uc644\ub8cc"
)
_RESULTS = re.compile(
    r"(?i:\bbest\b|\btest(?:ing|ed)?\b|\bresults?\b|\bsummary\b|\btotal\b|\belapsed\b|\btook\b|\bexport|\breport\b|\boverall\b"
    r"|\b(?:sav(?:ed|ing)|wrote|written|stored)\b.{0,60}\b(?:model|weights|results?|metrics|history|best|last|json|csv|onnx)\b"
    r"|^(?!.*(?:checkpoint|ckpt|step|epoch)).*\b(?:saved|wrote|written|stored|dumped|gespeichert|guardad[oa]|enregistré|salv[oa]|сохранен\w*)\b"
    r"|\bartifacts?\b|\bscores?\b|\baverage\b|\bmean\b)|\u4fdd\u5b58"
)


_WORD = (
    r"(?:fatal|error|errors?|critical|panic|severe|exception|failed|failure|unhandled|uncaught|fehler|erreur|errore?|erro"
    r"|ошибка|fout|fel|hata|chyba|błąd|virhe|abbruch|abgebrochen|abandon|aborto?|прервано|致命错误|致命的|错误|錯誤|エラー|오류|中止|中断)"
)
_LINE_OF_SCRIPT = r"(?:(?:line|行|第|Zeile|ligne|línea|linha|riga|строка|줄) ?\d+(?: ?行)?|\d+ ?行)"
_NAMED = re.compile(rf"(?i)(?<![a-zà-ÿ]){_WORD}\s?[:：]\s+(?![-+]?[\d.])\S")
"""The word before a colon, anywhere in a line."""
_OF_SHELL = re.compile(
    rf"^(?:\S{{1,80}}: )?{_LINE_OF_SCRIPT}[:：]\s?\S|^\S{{1,60}}: \d{{1,4}}: \S{{1,80}}: \S"
)
"""How bash and dash complain: the script, the number of its line, and what could not be done."""
_AT_ITS_BEGINNING = re.compile(rf"(?i)\W{{0,3}}{_WORD}(?!\w)")
_PREFIX = re.compile(
    r"\[[^\]]{1,40}\]\s*|\d[\d:.,/TZ+-]*\s*|[\w./-]{1,40}\s?[:|]\s*|[-|:>*#=<(]+\s*|(?:INFO|DEBUG)\s+"
)
"""One piece of what a log library or a program writes before its words."""
PIECES = 6
_STATUS = re.compile(
    r"(?i)(?:\b(?:code|(?:exit|return|termination)[ _]status|statut|estado|stato|código|codice|kod|koda|returncode|rc|exitcode|rückgabe\w*|exit(?=\W{1,3}\d)|mpirun|srun|код\w*|статус\w*)\b|码|コード|코드|상태)"
    r"[^\d\n-]{0,20}(?P<status>-?(?:[1-9]\d?|1\d\d))\b(?![.,]\d)"
)
"""An exit status that is not 0 and no status of HTTP; in most languages one of these words comes before it."""
_ERRORS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?i)\b(?:training|run|job|script|process|program|pipeline|step|stage|worker|rank|command)\b.{0,40}\b(?:failed|aborted|crashed|died|terminated)\b",
        r"(?i)\b(?:cannot|could not|couldn't|unable to|failed to|no such file|permission denied|not found)\b",
        r"(?i)^\W{0,4}(?:\S{1,40} ){0,3}(?:abort(?:ed| trap)?|trace/bpt trap|illegal instruction|segmentation fault|bus error|killed)\b",
        r"(?i)\bnon-?zero (?:exit )?status|\bexit(?:ed)?\b.{0,24}\b(?:code|status)\W{0,3}-\d{4,}",
        r"\*\*\* \[.{1,80}\] (?:Error|Fehler|Erreur|错误) -?\d+",
        r"(?i)\bno progress\b|\btimed? ?out\b|\bdeadlock|\bgiving up\b|\bbailing out\b",
        r"because it is being used by another process|The system cannot find|\braise SystemExit\b",
    )
)
_NO_ERROR = re.compile(
    rf"(?i)\b(?:no|0|zero|without|ignor\w+|non-?fatal|recover\w*|retry\w*|skipp\w+|warn\w*)\b.{{0,30}}{_WORD}|{_WORD}\w*\W{{0,3}}(?:rate\W{{0,3}})?[-+]?\d*\.\d"
    rf"|{_WORD}\W{{0,2}}[=:]\W{{0,2}}(?:0|none|false|nan)\b|{_WORD}\W{{0,2}}[=:]\s?(?:\"\"|'')|\bwarn(?:ing)?\b"
)
_OF_STACK = re.compile(
    r"\s{2,}\S|File \"|(?:Current )?[Tt]hread 0x|\[?(?:rank\d+\])?:?\s+File \"|Traceback \(most"
)
_OF_TIME = re.compile(
    r"(?i)\b(?:time|took|elapsed|duration|seconds|minutes|hours|sec|exit|status)\b|\d:\d\d:\d\d|用时|耗时|dauer|durée"
)
_VALUES = re.compile(r"\w\"?\s?[:=]\s?[-+]?\d")
SEVERAL = 2
"""Values with names from which a line is about more than a time."""
_SAVED = re.compile(
    r"(?i)\b(?:saved|wrote|written|stored|dumped|gespeichert|guardad[oa]|enregistré|salv[oa]|сохранен\w*)\b|保存|\bin \S+\.\w{2,5}\b"
)
_OVERCAME = re.compile(
    r"(?i)\b(?:saved|written|wrote|succeed\w*|recover\w*|resum\w+|retry\w*|retried|continu\w+|ok)\b"
)
_AT_EXIT = re.compile(
    r"^(?:Exception ignored in\b|Error in (?:atexit|sys\.)|Exception in thread (?!\"))"
)
ENDING = 6
"""New lines at the end of a log in which an error is its last word: a program adds a hint or two, a shell and
a launcher add theirs."""


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
    texts = [text.strip() for _, text in tail if text.strip()]
    newest = tail[-1][0] if tail else 0
    if not texts:
        return LastWords()
    shapes = [_shape(text) for text in texts]
    loop_end = _loop_end(texts, shapes)
    closing = _new(texts, shapes, loop_end)
    kind, said = _farewell(closing)
    if not kind and loop_end >= 0 and _BAR.search(texts[loop_end]):
        # a bar is drawn once more when it is closed, after the words about its end
        before = _loop_end(texts[:loop_end], shapes[:loop_end])
        earlier = _new(texts[:loop_end], shapes[:loop_end], before)
        kind, said = _farewell([line for line in earlier if _STOPS.search(line)])
    of_loop = set(shapes[: loop_end + 1])
    reached, counted = _reached(texts[: loop_end + 1], shapes[: loop_end + 1])
    return LastWords(
        last_line=texts[-1][:200],
        line=newest,
        closing=tuple(line[:200] for line in closing[:SHOWN]),
        farewell=kind,
        said=said[:200],
        reached=reached,
        counted=counted,
        **_end(tail, of_loop),
    )


def _shape(text: str) -> str:
    return _GLYPHS.sub(" ", _NUMBER.sub("0", text)).strip().lower()[:120]


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
    for kind, words in (("stop", _STOPS), ("end", _ENDS), ("results", _RESULTS)):
        for line in closing:
            if words.search(line) and not _troubled(line) and not _still_counts(line):
                return kind, line  # type: ignore[return-value]
    return "", ""


def _end(lines: Sequence[tuple[int, str]], of_loop: Collection[str]) -> dict[str, Any]:
    """The fields about an error with which the log ends, and about results after its loop.

    The error is the first of the last :data:`ENDING` new lines that says so, if none after it says that all
    is well; lines of stacks do not count."""
    new = [(n, text.strip()) for n, text in lines if text.strip() and not _OF_STACK.match(text)]
    last = [(n, text) for n, text in new[-ENDING:] if _shape(text) not in of_loop]
    wrong = [i for i, (_, text) in enumerate(last) if says_error(text, words=bool(of_loop))]
    good = [i for i, (_, text) in enumerate(last) if _is_result(text, loop=bool(of_loop))]
    if good and (not wrong or wrong[-1] < good[-1]):
        return {"well_line": last[good[-1]][0]}
    if any(_AT_EXIT.search(text) for _, text in lines[-4 * ENDING :]):
        return {}
    if not wrong or any(_is_good(text) for _, text in last[wrong[-1] + 1 :]):
        return {}
    number, text = last[wrong[0]]
    return {"error": text[:400], "error_line": number, "signal": _signal(text)}


def _is_result(line: str, *, loop: bool) -> bool:
    """True for results with their numbers, or the word that they are saved: a shell or a launcher that
    reports the end of a program knows only times and statuses."""
    said = _RESULTS.search(line) or _ENDS.search(line)
    shown = _MEASURE.search(line) or (loop and _SAVED.search(line))
    timed = _OF_TIME.search(line) and len(_VALUES.findall(line)) < SEVERAL
    return bool(said and shown) and not _troubled(line) and not timed and not says_error(line)


def _troubled(line: str) -> bool:
    """True for a line about trouble, unless it only counts errors or measures one."""
    return _TROUBLE.search(line) is not None and _NO_ERROR.search(line) is None


def _signal(text: str) -> int | None:
    """The signal of an exit status in a line, as Python (-9) and shells (137) give it."""
    match = _STATUS.search(text)
    status = 0 if match is None else int(match["status"])
    return -status if -64 < status < 0 else status - 128 if 128 < status < 192 else None


def says_error(line: str, *, words: bool = True) -> bool:
    """True for a line that by its structure says that the program failed: an error with its name, the word
    at its beginning. With ``words`` also for common words, a signal or an exit status; programs that
    start complain in such words about what they do not need."""
    line = line[:300]
    if _NO_ERROR.search(line):
        return False
    rest = line
    for _ in range(PIECES):
        named = split_error(rest)
        if named is not None:
            return not named[0].endswith(("Warning", "Iteration"))
        if _AT_ITS_BEGINNING.match(rest):
            return True
        piece = _PREFIX.match(rest)
        if piece is None:
            break
        rest = rest[piece.end() :]
    if _NAMED.search(line) or _OF_SHELL.match(line):
        return True
    return words and (bool(_STATUS.search(line)) or any(form.search(line) for form in _ERRORS))


def _is_good(line: str) -> bool:
    said = _OVERCAME.search(line) or (_ENDS.search(line) and not _troubled(line))
    return said is not None and not says_error(line)


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
    found: dict[tuple[str, int, float], _Counter] = {}
    for i, (text, shape) in enumerate(zip(texts, shapes, strict=True)):
        for column, (value, total, rest) in enumerate(_counters(text)):
            one = found.setdefault((shape, column, total), _Counter(total))
            one.values.append(value)
            one.lines.append(i)
            one.head = one.head and not _MEASURE.search(rest)
    moving = [c for c in found.values() if len(set(c.values)) > 1]
    outer = [c for c in moving if not c.begins_anew and not c.is_over(len(texts))]
    if not outer:
        return _by_bar(texts[-1] if texts else "")
    # the outermost of those that never begin anew is the one that goes on for longest
    top = max(outer, key=lambda c: (c.lines[-1] - c.lines[0], -c.of))
    inner = [c for c in moving if c.begins_anew and c.lines[-1] >= top.lines[-1]]
    counted = (top.values[-1], top.of)
    if not top.at_end or not all(c.at_end for c in inner):
        return False, counted
    if top.head and not inner and not _whole_unit(top, len(texts)):
        return False, counted
    return True, counted


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
