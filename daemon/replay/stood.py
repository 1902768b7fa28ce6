"""Where a program stood when a person stopped it: who presses Ctrl-C has often waited long enough for something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from middlewatch.sentinels.kit import LogEvent
from middlewatch.sentinels.kit.classes import COLLECTIVE

from ..parsers.frames import Frame

_FRAME = re.compile(r"(?P<file>.{1,300}):(?P<line>\d{1,7}) in (?P<name>\S{1,80})")
_TOGETHER = re.compile(
    r"\b(?:barrier|all_reduce|all_gather\w*|broadcast\w*|wait_for_everyone|wrapper|_get_msg_dict|synchronize)$"
)
"""Calls in which one process waits for another of its job; the other one says more."""
MOST_RANKS = 4
"""Ranks that are shown."""
_APART = (
    "give each rank the same number of steps (even shards, `drop_last=True`, or DDP's Join): they stood at different places, as when one has "
    "fewer batches than the others and has left the loop, or takes a branch that only it takes"
)
_WAITS = (
    (
        re.compile(r"filelock[/\\]|FileLock|portalocker"),
        "see who holds the lock file that it waited for: `lsof LOCK` or `fuser -v LOCK`; if nobody does, remove it, and start again",
    ),
    (
        re.compile(r"[/\\](?:queues?|connection)\.py:\d+ in (?:get|recv\w*|_recv\w*|poll|wait)"),
        (
            "see whether who fills the queue was still there, and had anything left to give: it waited for the next item "
            "(its last lines are above); let it say when it ends, and give the read a time-out"
        ),
    ),
    (
        re.compile(r"torch[/\\]utils[/\\]data|in (?:_next_data|_get_data|_try_get_data|__next__)$"),
        (
            "see what the loader workers do: `py-spy dump --pid` of one while it waits, and one epoch with `num_workers=0`. A thread that was started "
            "before they are forked leaves its locks behind in them: start it after them, or use `multiprocessing_context='spawn'`; `timeout=` of the "
            "DataLoader makes such a wait fail loudly"
        ),
    ),
    (
        re.compile(r"socket\.py|ssl\.py|urllib3|requests[/\\]|http[/\\]client"),
        "see whether the host that it waited for answers, and give the request a time-out",
    ),
    (
        re.compile(r"in (?:input|readline|getpass)$|in prompt"),
        "it waited for somebody to type an answer: give the answer in the command",
    ),
    (
        re.compile(r"subprocess\.py:\d+ in (?:wait|_wait|communicate|_try_wait)"),
        "see what the child process did that it waited for",
    ),
    (
        re.compile(
            r"threading\.py:\d+ in (?:acquire|wait|join|_wait_for_tstate_lock)|synchronize\.py"
        ),
        "see which thread holds the lock: `py-spy dump --pid PID` while it waits",
    ),
)
"""What a call waits for (Python's own modules, PyTorch's loader, filelock), and the first step there."""


def stood(events: Iterable[LogEvent]) -> tuple[str, str]:
    """(where the interrupted program stood, the first step for what it waited for); each empty if that is not known.

    Of several ranks the one that did not wait for the others."""
    places = [
        (called, own)
        for event in events
        if event.details.get("exception") == "KeyboardInterrupt"
        for called, own in (
            (_frame(event.details.get("inner")), _frame(event.details.get("frame"))),
        )
        if called or own
    ]
    alone = [p for p in places if not _TOGETHER.search(p[0].name if p[0] else "")] or places
    if not alone:
        return "", ""
    called, own = alone[0]
    step = _step(called) if called else ""
    return _words(called, own), step


def raised_at(details: Mapping[str, object]) -> str:
    """Where the program was when an exception came, with that line of it; empty if the traceback shows none of its lines."""
    own, code = _frame(details.get("frame")), str(details.get("code", ""))
    if own is None or not code:
        return ""
    place = f"line {own.line} of {PurePath(own.file).name}"
    return f"{place}: {code}"


def apart(events: Iterable[LogEvent]) -> tuple[str, str]:
    """(where the ranks stood, the first step) when two of them gave up a collective at different lines of the program."""
    places: dict[int, str] = {}
    for event in events:
        at = raised_at(event.details)
        if at and event.rank is not None and event.trouble in COLLECTIVE:
            places.setdefault(event.rank, at)
    if len(set(places.values())) < 2:
        return "", ""
    words = "; ".join(f"rank {rank}: {at}" for rank, at in sorted(places.items())[:MOST_RANKS])
    return words, _APART


def _frame(text: object) -> Frame | None:
    found = _FRAME.fullmatch(str(text or ""))
    return None if found is None else Frame(found["file"], int(found["line"]), found["name"])


def _step(called: Frame) -> str:
    where = str(called)
    return next((step for pattern, step in _WAITS if pattern.search(where)), "")


def _words(called: Frame | None, own: Frame | None) -> str:
    parts: Sequence[str] = (
        *((f"in {called.name} ({_short(called.file)})",) if called else ()),
        *(
            (f"{'called ' if called else ''}at line {own.line} of {PurePath(own.file).name}",)
            if own
            else ()
        ),
    )
    return f"it stood {', '.join(parts)}"


def _short(file: str) -> str:
    return "/".join(file.replace("\\", "/").split("/")[-2:])
