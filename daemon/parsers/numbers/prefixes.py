"""Text before the message: prefixes of launchers and log collectors, times, callers.

Text that was read is replaced by blanks, so that the length stays the same and positions found
later are still those in the line.
"""

from __future__ import annotations

import re

from .fields import Field

_NO_ROLE = r"(?!(?:epochs?|steps?|iters?|iteration|batch|ep|fold|train|val|valid|test|stage|phase)[ _-]?\d)"
_PREFIX = re.compile(
    r"\s*(?:\[(?:default|rank|Rank|RANK|Trainer|trainer|worker|Worker)[ :_=-]?(?P<a>\d{1,5})(?:/\d+)?\]:?"  # torchrun, torch
    rf"|\[{_NO_ROLE}[A-Za-z_]{{3,24}}(?P<r>\d{{1,5}})\]:(?=\s)"  # torchrun with another --role
    r"|\[(?P<b>\d{1,5})\]:(?=\s*\S)"
    r"|(?P<c>\d{1,4}):(?= {1,4}(?!\d+\.\d+, )\S)"  # srun -l
    r"|(?:[Rr]ank|RANK)[ _:=-]?(?P<d>\d{1,5})\s*[:\]|]"
    r"|\((?:[\w.:<>=-]{1,60} ){0,3}pid=\d[^()]{0,80}\)"  # Ray, vLLM
    r"|\[(?:[\w.@-]{1,60}@)?\d+,(?P<e>\d{1,5})\]<std(?:out|err|diag)>:"  # mpirun --tag-output
    r"|\[?pods?/[\w.-]{1,120}(?:/[\w.-]{1,80})?\]?:?(?=\s)"  # kubectl logs --prefix
    r"|[a-z][a-z0-9-]{1,60}-[a-z0-9]{6,10}-[a-z0-9]{5} [a-z][a-z0-9-]{0,40}(?= )"  # stern
    r"|20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP](?= ))?"  # CRI, docker -t
    rf"|{_NO_ROLE}[a-z][a-z0-9._-]{{0,60}}[_-]\d{{1,4}} {{1,40}}\|(?=\s)"  # docker compose
    r"|\d\d:\d\d:\d\d [a-z][\w-]{0,30}\.\d+ +\|(?=\s)"  # foreman, honcho
    r"|(?:node|host|worker|gpu|compute|server|ip|cn|gn|nid|dgx|hgx|pod|trainer|master|slave|vm|n)"
    r"(?:[-_.]?[a-z]{1,12})?[-_]?\d[\w.-]{0,60}:(?= )"  # pdsh, clush, dsh
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,64} (?:python[\d.]*|torchrun|accelerate|deepspeed|srun|bash|sh|uv|conda)"
    r"\[\d+\]:(?=\s)"  # journald
    r")\s?"
)
_RANK_INSIDE = re.compile(
    r"[\[(](?:[^\[\]()\n]{0,60}[,| ])?(?:global[ _])?(?:[Rr]ank|RANK)[ :=_]?\s?(?P<rank>\d{1,9})(?:/\d+)?[\])]"
)
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d[ T_-]\d\d[:-]\d\d(?:[:-]\d\d)?(?:[.,]\d+)?(?:Z|\s?[+-]\d\d:?\d\d)?"
    r"|^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ [\w./-]+:\d+\]"  # glog
    r"|\[?[IWEF]\d{3,4} \d\d:\d\d:\d\d\.\d+(?: \d+)? [\w./-]+:\d+\]"
    r"|\b\d\d?[/.-]\d\d?(?:[/.-](?:20)?\d\d)?,? \d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?: [AP]M)?\b"
    r"|\b20\d{6}[ _-]?\d\d:?\d\d:?\d\d\b"
    rf"|\b(?:{_DAY},? )?(?:{_MONTH} [ \d]\d|\d\d? {_MONTH})(?: 20\d\d)? \d\d:\d\d:\d\d(?: [A-Z]{{3,4}})?(?: 20\d\d)?\b"
    r"|\b(?:\d+ days?,? )?\d{1,3}:\d\d:\d\d(?:[.,]\d+)?\b(?![<\]])"
    r"|\[\d\d:\d\d(?::\d\d)?\]"
    r"|\b20\d\d-\d\d-\d\d\b"
)
_CALLER = re.compile(
    r"[\[(](?:[A-Z]+\|)?[\w./-]+\.(?:py|cc|cpp|cu|cuh|h|c|rs|jl)(?:[: ](?:line )?\d+)?(?::\w+)?[\])]"
    r"|[\[(][A-Za-z_][\w.]*(?::[A-Za-z_]\w*)?:\d+(?:, rank=\d+)?[\])]"
    r"|(?<![\w.])[A-Za-z_]\w{0,40}(?:\.\w{1,40}){1,8}:(?:[A-Za-z_<]\w{0,40}>?:)?\d+(?=\s|$)"  # loguru, OLMo
    r"|^\s*(?:INFO|WARNING|ERROR|DEBUG|CRITICAL):[\w.-]{1,60}:"
    r"|(?:^|\s)[\w/.-]{1,150}\.py:\d+(?=[\s\]:])"
)
_LEFT = re.compile(
    r"(?i:\b(?:eta|remaining|elapsed|time left|remaining time|elapsed time|cost time|已用|剩余)\b['\"]?\s*[:=(]?\s*['\"]?)"
    r"(?:\d+ ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b[, ]{0,2}(?:and )?){1,5}"
)


_BLANKED = (
    (re.compile(r"\d:\d\d|20\d\d-\d\d"), _TIME),
    (re.compile(r":\s?\d|\.py|^\s*[A-Z]{4,8}:|\w\(|line \d"), _CALLER),
    (re.compile(r"eta|ETA|Eta|emaining|lapsed|left|cost|已用|剩余"), _LEFT),
)
"""(quick test, pattern): the cheap test holds for every line that the pattern matches."""


def blank(text: str, start: int, end: int) -> str:
    """The same text with ``text[start:end]`` replaced by spaces."""
    return text[:start] + " " * (end - start) + text[end:]


def rank_prefix(text: str) -> tuple[int | None, int, Field | None]:
    """(rank, offset of the rest, the rank as a field) of a line; reads up to three prefixes."""
    rank: int | None = None
    found: Field | None = None
    at = 0
    for _ in range(3):
        match = _PREFIX.match(text, at)
        if match is None:
            break
        group = match.lastgroup
        if group is not None and rank is None:
            rank = int(match[group])
            found = Field("rank", match.start(group), match.end(group))
        at = match.end()
    return rank, at, found


def rank_inside(text: str) -> Field | None:
    """The rank in ``[2026-01-02 03:04:05] [INFO] [Rank 3] …``: only within brackets.

    Without brackets, ``rank: 8`` may be the rank of an adapter or of a search result.
    """
    match = _RANK_INSIDE.search(text[:200]) if "ank" in text or "RANK" in text else None
    return None if match is None else Field("rank", *match.span("rank"))


def without_times(text: str) -> str:
    """Replace time stamps, durations, and callers (``[file.py:12]``) by blanks."""
    for clue, pattern in _BLANKED:
        if clue.search(text):
            for match in pattern.finditer(text):
                text = blank(text, match.start(), match.end())
    return text
