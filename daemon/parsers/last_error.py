"""The error with which a log ends, whatever it is called, and the results that show that there is none.

Nothing is known here about wordings of libraries. A line is an error by its structure: an exception with its
name, the word "error" of some language at its beginning or before a colon, the way in which shells and launchers
complain, an exit status. It counts in one place only, after the loop, as the last new lines of a log.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from .by_words import trouble_of
from .errnos import errno_of
from .exit_status import STATUS, signal_of
from .farewells import ENDS, MEASURE, RESULTS, TROUBLE, shape_of_text
from .last_block import (
    HALTED,
    Lines,
    announces,
    because,
    cause_in,
    head_of_stack,
    in_stack,
    passes_on,
    said_before,
    unboxed,
)
from .tracebacks import split_error

_WORD = (
    r"(?:fatal|error|errors?|critical|panic|severe|exception|failed|failure|unhandled|uncaught|fehler|erreur|errore?|erro"
    r"|ошибка|fout|fel|hata|chyba|błąd|virhe|échec|abbruch|abgebrochen|abandon|aborto?|feil|fejl|greška|napaka|hiba|eroare|klaida|viga|kļūda|lỗi|galat|kesalahan|ralat|earráid"
    r"|失败|失敗|실패|σφάλμα|помилка|грешка|прервано|致命错误|致命的|错误|錯誤|エラー|오류|에러|中止|中断|خطأ|שגיאה|त्रुटि|ข้อผิดพลาด)"
)
_LINE_OF_SCRIPT = (
    r"(?:(?:line|行|第|Zeile|ligne|línea|línia|liña|líne|linha|linia|linie|linje|linio|rad|redak|regel|riadok|rivi|riga|řádek|satır|vrstica"
    r"|baris|dòng|eilutė|γραμμή|ред|рядок|строка|줄|행) ?\d+(?:ª|번| ?[行列])?|\d+ (?:行|eilutė)|\d+\. (?:sor|satır|ред))"
)
"""As the catalogues of bash 5.2 word it."""
_NAMED = re.compile(rf"(?i)(?<![a-zà-ÿ]){_WORD}\s?[:：]\s+(?![-+]?[\d.])\S")
"""The word before a colon, anywhere in a line."""
_RAISED = re.compile(r"(?<![\w.])(?:[a-z_]\w*\.)*[A-Z][a-z]\w*(?:Error|Exception)\b(?!\w)")
"""The name of an exception, anywhere in a line."""
_OF_SHELL = re.compile(
    rf"^(?:\S{{1,80}} ?[:,] ?)?{_LINE_OF_SCRIPT} ?[:：]\s?\S|^\S{{1,60}}: \d{{1,4}}: \S{{1,80}}: \S"
)
"""How bash and dash complain: the script, the number of its line, and what could not be done."""
_STATUS_CODE = re.compile(
    r"(?<!\w)(?:INTERNAL|INVALID_ARGUMENT|FAILED_PRECONDITION|RESOURCE_EXHAUSTED|NOT_FOUND|UNAVAILABLE|UNIMPLEMENTED"
    r"|OUT_OF_RANGE|DATA_LOSS|ABORTED|DEADLINE_EXCEEDED|PERMISSION_DENIED|ALREADY_EXISTS|UNAUTHENTICATED): \S"
)
"""How absl and gRPC print a status (absl/status/status.h): its code, then what happened."""
_CROSS = re.compile(
    r"^[✘✗✖❌]\ufe0f? ?(?=.{0,60}(?i:error|fail|invalid|cannot|could not|missing|unable|\bnot\b|\bno\b))"
)
"""The mark of wasabi (spaCy), npm and many shells' scripts before what went wrong."""
_AT_ITS_BEGINNING = re.compile(rf"(?i)\W{{0,3}}{_WORD}(?!\w)")
_PREFIX = re.compile(
    r"\[[^\]]{1,40}\]\s*|\d[\d:.,/TZ+-]*\s*|[\w./-]{1,40}\s?[:|]\s*|[-|:>*#=<(]+\s*|(?:INFO|DEBUG)\s+"
)
"""One piece of what a log library or a program writes before its words."""
PIECES = 6
_ERRORS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?i)\b(?:training|run|job|script|process|program|pipeline|step|stage|worker|rank|command)\b.{0,40}\b(?:failed|aborted|crashed|died|terminated)\b",
        r"(?i)\b(?:cannot|could not|couldn't|unable to|failed to|no such file|permission denied|not found)\b",
        r"(?i)^\W{0,4}(?:\S{1,40} ){0,3}(?:abort(?:ed| trap)?|trace/bpt trap|illegal instruction|segmentation fault|bus error|killed)\b",
        r"(?i)\bnon-?zero (?:exit )?status|\bexit(?:ed)?\b.{0,24}\b(?:code|status)\W{0,3}-\d{4,}",
        r"\*\*\* \[.{1,80}\] \S{1,20} -?\d+",  # make, in any language
        r"^(?:raised|\*\* \(\w|uncaught|unhandled|(?:ERROR )?STOP (?!0+$)\S)",  # Ada, Elixir, Fortran
        r"^(?!Use of |.{0,80}isn't ).{1,300} at \S+ line \d+\.?$|(?i: on line \d+$)",  # Perl, PHP
        r"^(?:[\w.-]{1,40}: )?(?:[A-Za-z]:)?[\w./\\-]{1,120}\.[A-Za-z]\w{0,7}:\d+:(?:\d+:)? (?!.{0,80}(?i:warn|note|info|debug))",  # a place, then what
        r"^.{0,80}?[\s\[(<|-](?:ERROR|FATAL|CRITICAL|SEVERE)[\])>|:\s-]\s*[-:|]?\s*\S",  # a level, whatever comes before it
        (
            r"(?i)\bfailed\b(?=[:!.,]|\s*$|\s(?:at|with|to|in|on|for|because|after|while)\b)|\bunexpected end\b|\bunterminated\b"
            r"|\bterminating\b|\buncaught\b|\bunhandled\b|\bsignal \d+ (?:caught|received)\b|\bcaught signal\b"
        ),
        r"(?i)\b(?:http|status|answered|code)\W{0,3}[45]\d\d\b|\b[45]\d\d (?:unauthorized|forbidden|not found|too many|internal|bad|service|gateway|insufficient)",
        r"(?i)^(?:process|program|command|job|\S+\.\w+|.{1,40}:.{0,40}) returned (?!0\b)-?\d+(?![.\d])",
        r"(?i)\b(?:not|nothing|no \w+) (?:(?:was|were|is|has been) )?(?:started|written|created|produced)\b",
        (
            r"(?i)fehlgeschlagen|gescheitert|échoué|\bfall(?:id[oa]|ó|it[oa])\b|falhou|mislukt|misslyck|mislyk|epäonnist|nie powiod|не удал|провал|başarısız|selhal"
            r"|\bnicht (?:gefunden|geöffnet|möglich)|(?:kann|konnte) .{0,60}nicht|introuvable|impossib(?:le|ile)\b|no se (?:puede|pud|encontr)|não (?:foi|pode|encontr)"
            r"|nie (?:można|udało)|не (?:найден|може|знайден)|невозможно|\bniet (?:gevonden|openen|worden)|kunde inte|kunne ikke|ei voi|できません|ありません|ません(?:でした)?$"
            r"|無法|无法|找不到|찾을 수 없|할 수 없"
        ),
        (
            r"(?i)\b(?:can't|undefined|not defined|does not exist|no such|unbound|mismatch|denied|refused|rejected|unreachable|overflow"
            r"|out of (?:range|bounds|memory)|not (?:permitted|allowed|supported)|bad_alloc)\b(?!\W{0,3}0\b|\W{1,3}\d+\W*$)"
        ),
        r"(?i)^\W{0,4}(?:wrong|invalid|illegal|malformed|unexpected|corrupt(?:ed)?|unsupported|not enough|insufficient|out of)\b",
        r"(?i)\bno progress\b|\btimed? ?out\b|\bdeadlock|\bgiving up\b|\bbailing out\b",
        r"^#? ?Ended \(code (?!0\))-?\d+\)",  # run.pl and queue.pl of Kaldi
        r"because it is being used by another process|The system cannot find|\braise SystemExit\b",
    )
)
_NO_ERROR = re.compile(
    rf"(?i)(?<![\d.])\b(?:no|0(?![\d.])|zero|without|ignor\w+|non-?fatal|recover\w*|retry\w*|skipp\w+|warn\w*)\b.{{0,30}}{_WORD}|{_WORD}\w*\W{{0,3}}(?:rate\W{{0,3}})?[-+]?\d*\.\d"
    rf"|{_WORD}\w*\W{{0,2}}[=:]\W{{0,2}}(?:0|none|false|nan)\b|(?<!\w){_WORD}\W{{0,2}}[=:]\s?(?:\"\"|'')(?=[\s,;)}}\]]|$)|\bwarn(?:ing)?\b|(?-i:(?:^|\s)[IW](?:\d{{4}})?\s(?:.{{0,40}}\s)?[\w/.-]+:\d+\])"
    r"|^(?:rm|ls|rmdir): .*: No such file or directory$|^slurmstepd: error: .*\bcgroup"
)
"""What is no error: counts of them, warnings, and that there was nothing to list or to clear away."""
_OF_STACK = re.compile(
    r"\s{2,}\S|File \"|(?:Current )?[Tt]hread 0x|\[?(?:rank\d+\])?:?\s+File \"|Traceback \(most"
)
_CARET = re.compile(r"\s*\^[\s^~]*$|\s*~+\^")
"""Under a line of the source that a runtime shows."""
_OF_TIME = re.compile(
    r"(?i)\b(?:time|took|elapsed|duration|seconds|minutes|hours|sec|exit|status)\b|\d:\d\d:\d\d|用时|耗时|dauer|durée"
)
_VALUES = re.compile(r"(?i)\w[\"']?\s?[:=]\s?[\"']?[-+]?(?:\d|nan\b|inf\b)")
SEVERAL = 2
"""Values with names from which a line is about more than a time."""
_SAVED = re.compile(
    r"(?i)\b(?:saved|wrote|written|stored|dumped|gespeichert|guardad[oa]s?|enregistrée?s?|salv[oa]|salvat[aeio]|zapisan\w*|opgeslagen|sparad|lagret|kaydedildi|tallennettu|сохран[её]н\w*)\b|保存|저장|\bin \S+\.\w{2,5}\b"
)
_OVERCAME = re.compile(
    r"(?i)\b(?:saved|written|wrote|succeed\w*|recover\w*|resum\w+|retry\w*|retried|continu\w+|ok)\b"
)
_AT_EXIT = re.compile(
    r"^(?:Exception ignored in\b|Error in (?:atexit|sys\.)|Exception in thread (?!\"))"
)
_WELL = re.compile(
    r"(?i)\b(?:exit(?:ed)?|exit[ _-]?(?:code|status)|(?:return|status)[ _]?code|status|rc|statut|estado|returned)"
    r"(?: (?:with|code|status)){0,2}\W{0,3}0\W*$|[:=–]\s?(?:ok|okay|success(?:ful)?|✓|✔)\W*$|\b(?:exit(?:s|ed)?|ended) successfully\W*$|^-[rwx-]{9}[.+]? "
)
"""The last words of a script for which all is well: a status of 0, a word after what it made, or its listing (``ls -l``)."""
_OF_LAUNCHER = re.compile(r"\bProcess \d+ exits successfully\W*$")
"""DeepSpeed's launcher, of each of its processes: as many equal lines as there are ranks."""
LATEST = 2
"""New lines at the very end of a log without a loop in which common words of failure count as well: what programs
complain about that they do not need comes at their start."""
ENDING = 6
"""New lines at the end of a log in which an error is its last word: a program adds a hint or two, a shell and
a launcher add theirs."""


def ending_of(lines: Lines, of_loop: Collection[str]) -> dict[str, Any]:
    """The fields about an error with which the log ends, and about results after its loop.

    The error is the first of the last :data:`ENDING` new lines that says so, if none after it says that all
    is well; lines of stacks do not count. Where none says so but the log ends with a stack, it is the line
    that this is about."""
    lines = _without_source(lines)
    block = _last_block(lines, of_loop)
    new = [
        (n, text.strip())
        for n, text in unboxed(lines)
        if not _OF_STACK.match(text) and not in_stack(text) and not announces(text)
    ]
    last = [(n, text) for n, text in new[-ENDING:] if shape_of_text(text) not in of_loop]
    said = [text for _, text in last[-1:] if _WELL.search(text) and not says_error(text)]
    if said := said or [text for _, text in new[-1:] if _OF_LAUNCHER.search(text)]:
        return {"farewell": "end", "said": said[0][:200]}  # tracebacks before it still count
    late = set()
    if len(new) > ENDING:
        texts = [text for _, text in new]
        late = {text for text in texts[-LATEST:] if texts.count(text) == 1}
    wrong = [
        i
        for i, (_, text) in enumerate(last)
        if says_error(text, words=bool(of_loop) or text in late)
    ]
    if not wrong and new and _gave_status(new[-1][1]):  # a loop of attempts, and this is the last
        last, wrong = [new[-1]], [0]
    loose = not of_loop and not any(says_error(text, words=False) for _, text in last)
    if (
        not wrong
        and last
        and _tells_what(last[-1][1])
        and [t for _, t in new].count(last[-1][1]) == 1
    ):
        wrong = [len(last) - 1]
    good = [i for i, (_, text) in enumerate(last) if _is_result(text, loop=bool(of_loop))]
    if good and (not wrong or wrong[-1] < good[-1]):
        return {"well_line": last[good[-1]][0]}
    if any(_AT_EXIT.search(text) for _, text in lines[-4 * ENDING :]):
        return {}
    if wrong and any(_is_good(text) for _, text in last[wrong[-1] + 1 :]):
        return {}
    head = head_of_stack(block)
    if wrong and (head < 0 or not passes_on(last[wrong[0]][1])):
        number, text = last[_naming(last, wrong)]
    else:
        if head < 0 or ENDS.search(block[head][1]) or _NO_ERROR.search(block[head][1]):
            return {"block_line": block[0][0] if block else 0}
        number, text = block[head]
    if text.endswith((":", "：")):  # what it was stands in the next line
        text += " " + next((more.strip() for n, more in lines if n > number and more.strip()), "")
    return {
        "error": text[:400].strip(),
        "error_line": number,
        "loose": loose,
        "signal": signal_of(text),
        "because": because(block, number, named=split_error(text) is not None) or cause_in(text),
        "before": said_before(block, number) if passes_on(text) else "",
        "block_line": block[0][0] if block else number,
    }


def _naming(last: Lines, wrong: Sequence[int]) -> int:
    """Of the errors that stand together, the first that names an exception: those above it only announce it."""
    together = [i for place, i in enumerate(wrong) if i == wrong[0] + place]
    named = (i for i in together if split_error(last[i][1]) or _RAISED.search(last[i][1]))
    return next(named, wrong[0])


def _without_source(lines: Lines) -> Lines:
    """The lines, without blank ones and those of a source that a runtime shows with a caret below."""
    pairs = zip(lines, [*lines[1:], (0, "")], strict=True)
    return [
        (n, text)
        for (n, text), (_, more) in pairs
        if text.strip() and not (_CARET.match(text) or _CARET.match(more))
    ]


def _last_block(lines: Lines, of_loop: Collection[str]) -> Lines:
    """The lines after the loop."""
    loop = (i for i, (_, text) in enumerate(lines) if shape_of_text(text.strip()) in of_loop)
    return lines[max(loop, default=-1) + 1 :]


def _is_result(line: str, *, loop: bool) -> bool:
    """True for results with their numbers, or the word that they are saved: a shell or a launcher that
    reports the end of a program knows only times and statuses."""
    said = RESULTS.search(line) or ENDS.search(line)
    shown = MEASURE.search(line) or (loop and _SAVED.search(line))
    timed = _OF_TIME.search(line) and len(_VALUES.findall(line)) < SEVERAL
    return bool(said and shown) and not troubled(line) and not timed and not says_error(line)


def troubled(line: str) -> bool:
    """True for a line about trouble, unless it only counts errors or measures one."""
    return TROUBLE.search(line) is not None and _NO_ERROR.search(line) is None


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
        if _AT_ITS_BEGINNING.match(rest) or _CROSS.match(rest):
            return True
        piece = _PREFIX.match(rest)
        if piece is None:
            break
        rest = rest[piece.end() :]
    if (
        _NAMED.search(line)
        or _STATUS_CODE.search(line)
        or _RAISED.search(line)
        or _OF_SHELL.match(line)
        or HALTED.match(line)
    ):
        return True
    if not words:
        return False
    said = STATUS.search(line) or any(form.search(line) for form in _ERRORS)
    return bool(said) or _names_it(line)


def _gave_status(line: str) -> bool:
    """Whether a line is about an error and has the exit status of a program."""
    return says_error(line, words=False) and STATUS.search(line) is not None


def _tells_what(line: str) -> bool:
    """True for a last line that by a number or by what it lacked says why the program went no further."""
    if _NO_ERROR.search(line):
        return False
    return bool(STATUS.search(line)) or _names_it(line)


def _names_it(line: str) -> bool:
    """True for what the system said, and for words about a lack, unless they count such things."""
    several = len(_VALUES.findall(line)) >= SEVERAL
    return bool(errno_of(line) or (trouble_of(line) and not several))


def _is_good(line: str) -> bool:
    said = _OVERCAME.search(line) or (ENDS.search(line) and not troubled(line))
    return said is not None and not says_error(line)
