"""The last block of a log by its structure: stacks of any language, chains of causes, and lines that pass on
what another program said.

A *frame* is a line of a stack: whatever the language, it names a place in a program (``t.js:3:7``,
``line 12``, an address) behind an indentation, a number, or a word like "at". A block that ends with frames is
an error, and the line before them says which one. Nothing here knows wordings of libraries.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .errnos import errno_of
from .farewells import ENDS, MEASURE, STOPS

Lines = Sequence[tuple[int, str]]
"""(number, text) of lines, in order."""

_PLACE = (
    r"(?:\.[A-Za-z]\w{0,7}[:(]\d+(?=[:),\s]|$)|\b(?:line|column) \d+\b|\b0x[0-9a-fA-F]{4,}|\$[0-9A-F]{8,}|\bNative Method\b"
    r"|\bUnknown Source\b|:in [`']|<anonymous>|\(file\)|\bin \?\?\?)"
)
_FRAME = re.compile(
    r"(?i:\s*(?:\#\s?\d{1,3}\s|\d{1,3}: ?\(*|\[\d{1,3}\]"
    r"|(?:at|from|by|called from|re-?raised (?:at|by)|raised (?:at|by)|in function|in call from|\(procedure|\(file|@|→|╰|├)\s)"
    rf"|\s+)(?=.{{0,300}}?{_PLACE})"
    r"|\s*(?:at [\w.$<>/-]+\(.{0,200}\)$|\.\.\. \d+ more$)"  # Java, Scala, Kotlin
    r"|\d{1,3}: \(+[A-Z]"  # SBCL
    r"|goroutine \d+ \["
    r"|(?:/\S+|[A-Z]:\\\S+)\(\d+\) \S+$"  # Nim
    r"|\s*\[C\]: in |\s*#\d+ \{main\}$"
)
_BESIDE = re.compile(r"\s{2,}\S|\t\S|(?:\w+[./])+\S*\(.{0,200}\)$|created by \S+$|\"[^\"].*\"$")
"""What stands between frames: lines of the source, values, the functions of Go. It proves nothing."""
_PYTHON = re.compile(r'\s*File "')
_ANNOUNCES = re.compile(
    r"(?i)\W{0,3}(?:(?:stack ?)?(?:back)?trace(?:back)?|(?:call )?stack|stack backtrace|(?:error: )?called from|while executing"
    r"|invoked from within|error termination\. backtrace)(?: \(most recent call (?:last|first)\)| follows)?\W{0,3}$"
)
"""The line before a stack."""
_OF_RUNTIME = re.compile(
    r"Node\.js v\d|note: run with|\[signal SIG|exit status \d|\W*$|In \S+:$|In addition\b|\S{1,20}: from\b"
)
"""What a runtime adds to a stack."""
_CAUSE = re.compile(
    r"(?i)\s*(?:\[cause\]|\[errors\]|-+>|(?:root )?caused? ?(?:by)?|inner exception|nested exception(?: is)?|because"
    r"|причина|原因|ursache)\s?(?:[:：>]|(?<=>))\s*(?P<cause>.*)"
)
_PASSES_ON = re.compile(
    r"(?i)\*\*\* (?:\[.{1,80}\] \S{1,20} -?\d+|Waiting)|\b(?:MPI_ABORT|quitting|halted)\b|^-\w main: \w+$"
    r"|\b(?:exit(?:ed|s)?|return(?:ed|s)?|terminated|status|code)\b.{0,40}\b(?:code|status|non-?zero|value)?\W{0,3}-?\d{1,3}\W*$"
    r"|non-?zero\b|\*\*\* Process received signal"
)
"""Lines by which a launcher, a shell or an interpreter says that a program failed, not why."""
_HALTED = (
    r"Execution halted|実行が停止されました|Ausführung angehalten|Ejecución interrumpida|Esecuzione interrotta|Execução interrompida"
    r"|Exécution arrêtée|Kørsel stoppet|Stoppa køyring|Vykdymas sustabdytas|Wykonywanie wstrzymane|Çalıştırma durduruldu"
    r"|Выполнение остановлено|停止執行|停止执行|실행이 정지되었습니다"
)
"""R's last words in its languages (catalogues of R 4.2)."""
HALTED = re.compile(rf"\s*(?:{_HALTED})\s*$")
BEFORE = 8
"""Lines before one that only passes on, among which the reason is looked for; our choice."""
_RULE = re.compile(r"\W*$")
_EDGE = re.compile(r"\s*[-=*_~#]{10,}\s*$")
"""The edge of a box around a message."""


def is_frame(text: str) -> bool:
    """True for a line of a stack, as it stands in the log: with its indentation."""
    return _FRAME.match(text) is not None and _PYTHON.match(text) is None


def in_stack(text: str) -> bool:
    """True for a frame and for whatever may stand between frames."""
    return _BESIDE.match(text) is not None or _FRAME.match(text) is not None


def announces(text: str) -> bool:
    """True for the line before a stack: ``Stacktrace:``."""
    return _ANNOUNCES.match(text) is not None


def passes_on(text: str) -> bool:
    """True for a line that says that a program failed, but not why."""
    return HALTED.match(text) is not None or _PASSES_ON.search(text) is not None


def unboxed(lines: Lines) -> Lines:
    """The lines, of every box between two rules that only passes on what happened just the first one."""
    kept: list[tuple[int, str]] = []
    box: list[tuple[int, str]] = []
    opened = False
    for number, text in lines:
        rule = _EDGE.match(text) is not None
        if not rule and not opened:
            kept.append((number, text))
        elif not rule:
            box.append((number, text))
        elif box:
            kept += box[:1] if any(passes_on(more) for _, more in box) else box
            box, opened = [], False
        else:
            opened = True
    return kept + box


def cause_in(text: str) -> str:
    """The cause that a line of a chain of causes tells; empty for any other line."""
    match = _CAUSE.match(text)
    return "" if match is None else match["cause"].strip()[:300]


def head_of_stack(block: Lines) -> int:
    """Index in the block of the line that a stack at its end is about; -1 if it does not end with one.

    That line is the one before the first frame, or the first one behind the frames where a language
    prints them first (``Backtrace:``).
    """
    frames = [i for i, (_, text) in enumerate(block) if is_frame(text)]
    others = [
        i
        for i, (_, text) in enumerate(block)
        if not in_stack(text) and not announces(text) and not _OF_RUNTIME.match(text)
    ]
    if not frames:
        return -1
    after = [i for i in others if i > frames[-1]]
    before = [i for i in others if i < frames[0]]
    opened = any(announces(text) for _, text in block[: frames[0]])
    if len(after) == 1 and opened:
        return after[0]
    if after:
        return -1
    return before[-1] if before else -1


def because(block: Lines, after: int, *, named: bool) -> str:
    """What a block says about the reason of an error: the deepest of its causes, else a line about an error
    number. ``after``: the line of the error; ``named``: it is an exception with its name, which needs no more."""
    found = ""
    later = [(n, text) for n, text in block if n > after]
    for i, (_, text) in enumerate(later):
        match = _CAUSE.match(text)
        if match is None:
            continue
        rest = match["cause"] or next((more for _, more in later[i + 1 :] if more.strip()), "")
        found = rest.strip().rstrip("{").strip() or found
    if found or named:
        return found[:300]
    told = (text.strip() for _, text in later if not is_frame(text) and errno_of(text))
    return next(told, "")[:300]


def said_before(block: Lines, number: int) -> str:
    """The newest words of a block before a line that only passes on; empty where they tell of no trouble:
    a result, a claim of the end."""
    before = [text.strip() for n, text in block if n < number and not is_frame(text)][-BEFORE:]
    said = next(
        (
            t
            for t in reversed(before)
            if not _RULE.match(t) and not t.endswith(":") and not passes_on(t)
        ),
        "",
    )
    return "" if any(words.search(said) for words in (MEASURE, ENDS, STOPS)) else said[:300]
