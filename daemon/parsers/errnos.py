"""The error number that a line tells, by its text in any language, by its name, or by the number itself.

Programs of every language pass on what the system said: ``open: No such file or directory``,
``(os error 28)``, ``ECONNREFUSED``, ``{error,enoent}``, ``Kein Speicherplatz …``. This is asked about the last lines
of a log only.
"""

from __future__ import annotations

import errno
import re
from functools import cache

CLASSES = {
    "ENOSPC": "disk_full",
    "EDQUOT": "quota_exceeded",
    "EROFS": "disk_read_only",
    "EIO": "io_error",
    "ENOMEM": "host_alloc_failed",
    "EMFILE": "fd_exhausted",
    "ENFILE": "fd_exhausted",
    **dict.fromkeys(("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE"), "segfault"),
    "SIGKILL": "process_killed",
    **dict.fromkeys(
        ("ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "EHOSTUNREACH"), "network_error"
    ),
    **dict.fromkeys(("ENETUNREACH", "EHOSTDOWN", "EAI_NONAME", "EAI_AGAIN"), "network_error"),
}
"""The class of trouble that an error number means; of all others it is the program's own."""
_OWN = re.compile(r"(?i)\brank\b|nccl|gloo|\bstore\b|rendezvous|postgres|sqlite|\bdatabase\b")
"""A connection that is no connection to the outside."""
_NAME = re.compile(r"\b(?:E[A-Z]{3,14}|SIG[A-Z]{3,4})\b|(?<=\{error,)e[a-z]{3,14}\b")
_NUMBER = re.compile(r"(?i)\b(?:os error|errno)\W{0,3}(?P<number>\d{1,3})\b")
_PARTS = re.compile(
    r"[:：;()\[\]{}\"«»]+|(?<!\w)'|'(?!\w)|\s[-–—]\s|\s{2,}|, | at \S+ line \d| for (?:reading|writing)\b"
)
"""What stands between the words of a program and those of the system."""
_AROUND = re.compile(r"^[\d\s.,!-]+|[\s.,!。]+$")


def _key(part: str) -> str:
    return _AROUND.sub("", part).casefold()


@cache
def _texts() -> dict[str, str]:
    """The name of the number by the longest part of its text, where that is no part of another text."""
    from .errno_texts import TEXTS

    known: dict[str, tuple[str, str]] = {}
    unclear = set()
    for name, texts in TEXTS.items():
        for text in texts.split("|"):
            key = max(map(_key, _PARTS.split(text)), key=len)
            if known.setdefault(key, (text, name))[0] != text and known[key][1] != name:
                unclear.add(key)  # "Nutraukta (aborted)" and "Nutraukta (killed)"
    return {key: name for key, (_, name) in known.items() if key not in unclear}


def errno_of(line: str) -> str:
    """The name of the error number or signal that a line tells: ``ENOENT``; empty for none."""
    for match in _NAME.finditer(line):
        name = match[0].upper()
        if name in CLASSES or name in errno.errorcode.values():
            return name
    for match in _NUMBER.finditer(line):
        name = errno.errorcode.get(int(match["number"]), "")
        if name:
            return name
    known = _texts()
    return next((known[key] for key in map(_key, _PARTS.split(line)) if key in known), "")


def class_of(line: str) -> str:
    """The class of trouble that the error number in a line means; empty for none of its own."""
    trouble = CLASSES.get(errno_of(line), "")
    return "" if trouble == "network_error" and _OWN.search(line) else trouble
