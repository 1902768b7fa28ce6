"""Whether a log was appended to by a later start: the lines with which the file begins stand in it again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..parsers.frames import frame_of
from ..parsers.text import decode, plain
from ..parsers.tracebacks import HEAD

OPENING_BYTES = 4096
"""Bytes of the head of a log that are kept."""
LINES = 3
"""Lines of the head that are looked for: what a job script, a launcher or an import writes at each start."""
LEAST = 2
"""Of these, that must stand again one below the other; one may be a ruler or a name."""
LETTERS = 12
"""Letters that these have at least, together."""


_OF_A_START = re.compile(
    r"cpu_feature_guard\.cc:\d+\]|oneDNN custom operations are on|[Ss]uccessfully opened dynamic library"
)
"""What a library says once, when it is loaded."""
_WARNS = re.compile(
    r"(?:site|dist)-packages[/\\](?!.*(?:multiprocessing|resource_tracker)).{1,200}\.py:\d+: \w*Warning: "
)
"""A warning of a library in Python: a process that has ended gives none."""
_TYPED = re.compile(
    r"^\S{0,80}(?:[$%❯]|~\]#|:\S*#) +(?:\w+=\S+ +)*(?:(?:nohup|time|sudo|nice|env) +)*"
    r"(?:python[\d.]*|torchrun|accelerate|deepspeed|bash|sh|srun|mpirun|\./\S+|\S+\.(?:py|sh))(?= )"
)
"""A command behind the prompt of a shell."""
WARNINGS = 2
"""Warnings that show a process: one may have stood in a buffer."""


def newest_start(opening: bytes, tail: Sequence[tuple[int, str]]) -> int:
    """The line where the newest start of this log begins; 0 where there is no other than the first.

    ``opening``: the first bytes of the log. ``tail``: (number, text) of its newest lines."""
    said = (_words(plain(decode(line))) for line in opening.split(b"\n")[:-1])
    head = [line for line in said if line][:LINES]
    if len(set(head[:LEAST])) < LEAST or sum(map(str.isalpha, "".join(head[:LEAST]))) < LETTERS:
        return 0
    if any(HEAD in line or frame_of(line, indented=False) for line in head[:LEAST]):
        return 0
    texts = [(number, line) for number, text in tail if (line := _words(text))]
    begun = 0
    for place in range(1, len(texts) - LEAST + 1):
        if [line for _, line in texts[place : place + LEAST]] == head[:LEAST]:
            begun = texts[place][0]
    return begun


def began_after(line: int, tail: Sequence[tuple[int, str]]) -> int:
    """The line after ``line``, where a program ended, at which another process shows itself; 0 if none does."""
    after = [(number, text) for number, text in tail if number > line]
    begun = [number for number, text in after if _OF_A_START.search(text) or _TYPED.match(text)]
    warned = [number for number, text in after if _WARNS.search(text)]
    return begun[0] if begun else warned[0] if len(warned) >= WARNINGS else 0


def _words(text: str) -> str:
    """A line without what differs between two starts: its numbers."""
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*", "0", text.strip())
