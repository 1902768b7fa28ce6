"""Make events: from a line that signatures match, and from a traceback that has ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from middlewatch.sentinels.kit import LogEvent
from middlewatch.sentinels.kit.classes import row as facts
from middlewatch.sentinels.kit.first_cause import SIGNALS
from middlewatch.sentinels.kit.last_words import LastWords

from . import matcher
from .by_words import trouble_of
from .errnos import class_of
from .frames import frame_of
from .raised import Raised
from .signatures import Signature
from .signatures.checkpoints import WHOLE
from .text import plain
from .tracebacks import HEAD, split_error

REPORTS_ANOTHER = frozenset(
    (
        *(
            "CalledProcessError",
            "ChildFailedError",
            "ProcessRaisedException",
            "ProcessExitedException",
        ),
        *("CellExecutionError", "PapermillExecutionError"),
    )
)
"""Exceptions by which the parent of a program, or of the kernel of a notebook, says that this failed: never the
cause, if the program itself said anything."""
_PASSED_ON = re.compile(
    r"^(?:Caught \w+ in .{0,80}\b(?:worker|replica|thread|process|device)\b|Above is the stack outside of JIT)"
)
"""The message of an exception that torch raises again in the parent (``ExceptionWrapper``), and of one that
Equinox raises in compiled code: the original traceback follows."""


_BAR = re.compile(r"^.{0,200}\d%\|.{0,200}?(?:it/s|s/it)[^\]]{0,200}\]\s*(?=\S)")
"""A progress bar, which has no end of line, before the words of another program."""


_WRITES = frozenset(("ckpt_write_failed", "disk_full", "quota_exceeded", "inode_exhausted"))
"""Classes of a write that failed, in whatever thread."""
_UNWRITABLE = frozenset(("io_error", "disk_error", "fs_error", "disk_read_only"))
"""Classes of a disk that does not take what is written: raised while a checkpoint was saved, they are
the failure of that save as well."""


_CUT = re.compile(
    rf"(?:EOFError|BadGzipFile|BadZipFile|UnpicklingError{WHOLE}|LZMAError|zlib\.error)\b"
)
"""Exceptions of a reader whose file ends too early, or is none of its kind: raised while a checkpoint was
loaded, they say that this is damaged."""


_READING_DATA = re.compile(r"\bCaught \w+ in DataLoader worker\b")
"""What a program logs of an exception in a worker of its loader: a file of the data that cannot be read is
no checkpoint."""


class LogPosition(NamedTuple):
    """Time (epoch seconds), file, line and rank of something that was read."""

    at: float
    file: str
    line: int
    rank: int | None


def of_line(text: str, rows: Iterable[int], place: LogPosition) -> list[LogEvent]:
    """The events of a line. ``rows``: indices of the signatures that may match it.

    The uncaught error of a program in any language also has the class that its words mean."""
    # what may have been is no evidence: "common causes include: (1) … (2) …"
    guesses = _GUESSES.search(text)
    found = matcher.matches(text[: guesses.start()] if guesses else text, rows)
    if _READING_DATA.search(text):
        found = [(row, more) for row, more in found if row.trouble != "ckpt_corrupt"]
    said = [_event(row, details, text, place) for row, details in found]
    known = {one.trouble for one in said}
    for one in said:
        if one.trouble == "python_exception" and one.fatal and one.role == "root":
            meant = class_of(text) or trouble_of(text)
            if meant and meant not in known:
                return [*said, replace(one, trouble=meant)]
    return said


_OFFLINE = "outgoing traffic has been disabled"


def of_raised(raised: Raised, place: LogPosition) -> list[LogEvent]:
    """The events of one traceback: of an exact class if there is one, else of its exception."""
    details: dict[str, object] = {"traceback_line": raised.head_line}
    if raised.exception:
        details |= {"exception": raised.exception, "message": plain(raised.message, 300)}
    if raised.chained:
        details |= {"chained": True, "handled": raised.handled}
    if raised.thread:
        details["thread"] = raised.thread
    if raised.script:
        details["script"] = raised.script
    if frame := frame_of(raised.frame, indented=False):
        details |= {"frame": str(frame), "frame_line": raised.frame_line}
        if raised.code:
            details["code"] = plain(raised.code)
    if raised.cause and raised.cause not in raised.text:
        details["first_cause"] = plain(raised.cause, 300)
    if inner := frame_of(raised.inner, indented=False):
        details["inner"] = str(inner)
    broken = f"{raised.frame}: the end of this traceback is missing" if raised.frame else ""
    text = raised.text or broken or raised.head_text
    # a collector may join all lines to one: what stands before the traceback is read if its end is missing
    words = raised.text or raised.head_text.partition(HEAD)[0]
    found = matcher.matches(words, matcher.candidates(words))
    exact = [
        (row, more)
        for row, more in found
        # a file that cannot be read is one of the data when a batch was being read
        if row.severity != "info"
        and not (raised.data and row.trouble == "ckpt_corrupt")
        # what handles an error, and lacks a module for that, is no start that failed
        and not (raised.chained and row.trouble == "launch_error")
        # with the hub switched off, no network was asked
        and not (row.trouble == "network_error" and _OFFLINE in raised.cause)
    ]
    said: list[LogEvent] = []
    # the exception of a script that started another one is a separate trouble
    if raised.ignored or not exact or raised.exception == "CalledProcessError":
        said.append(_exception(raised, text, details, place))
    # what ended a thread did not end the run, but what it failed to write is not written
    said += (
        replace(_event(row, details | more, text, place), fatal=row.fatal and not raised.ignored)
        for row, more in exact
        if not (raised.ignored and row.fatal) or (raised.save and row.trouble in _WRITES)
    )
    unsaved = raised.save and any(
        len(said) == 1 if raised.ignored else e.trouble in _UNWRITABLE for e in said
    )
    if unsaved:
        failed = replace(said[0], trouble="ckpt_write_failed", role="root", severity="critical")
        said.append(failed)
    return said


_GUESSES = re.compile(
    r"(?i)\b(?:common|possible|potential|likely|probable) (?:root )?(?:causes?|reasons?)\b.{0,60}\(?1[).]"
)
_CRASHED = re.compile(
    r"(?i)\babort(?:ed)?\b(?! due| by| because)|\btrap\b|illegal instruction|segmentation|bus error"
)


def of_last_words(words: LastWords, file: str) -> LogEvent:
    """The event of an error with which a log ends although nothing is known about its wording. What a
    known wording means is kept; in this place it is fatal."""
    text = words.error
    named = split_error(text)
    details = {} if named is None else {"exception": named[0], "message": plain(named[1], 300)}
    told = tuple(filter(None, (text, words.because, words.before)))
    exact = (one for said in told for one in _known(said) if not facts(one).side_effect)
    crashed = ("segfault",) if _CRASHED.search(text) and not words.before else ()
    meant = (one for said in told if (one := class_of(said) or trouble_of(said)))
    others = (one for one in _known(text) if one != "python_exception")
    killed = SIGNALS.get(words.signal or 0, ("python_exception", ""))[0]
    trouble = next(chain(exact, crashed, meant, others, (killed,)))
    return LogEvent(
        at=0.0,
        trouble=trouble,
        role="root",
        severity="critical",
        fatal=True,
        text=plain(text),
        file=file,
        line=words.error_line,
        rank=None,
        signature="last-words",
        details=details,
    )


def _known(text: str) -> list[str]:
    """The classes that known wordings in this text mean."""
    found = matcher.matches(text, matcher.candidates(text))
    return [row.trouble for row, _ in found if row.severity != "info"]


def _exception(
    raised: Raised, text: str, details: Mapping[str, object], place: LogPosition
) -> LogEvent:
    passed_on = (
        not raised.exception  # the end of its traceback never came
        or raised.exception in REPORTS_ANOTHER
        or _PASSED_ON.match(raised.message) is not None
    )
    known = "" if passed_on or raised.ignored else trouble_of(raised.message)
    if not known and raised.load and not raised.data and _CUT.search(raised.text):
        known = "ckpt_corrupt"
    return LogEvent(
        at=place.at,
        trouble=known or "python_exception",
        role="confirmation" if raised.ignored else "cascade" if passed_on else "root",
        severity="info" if raised.ignored else "critical",
        fatal=not raised.ignored,
        text=plain(text),
        file=place.file,
        line=place.line,
        rank=place.rank,
        signature="traceback",
        details=details,
    )


def _event(
    row: Signature, details: Mapping[str, object], text: str, place: LogPosition
) -> LogEvent:
    named = details.get("rank")
    return LogEvent(
        at=place.at,
        trouble=row.trouble,
        role=row.role,
        severity=row.severity,
        fatal=row.fatal,
        text=plain(_BAR.sub("", text)),
        file=place.file,
        line=place.line,
        rank=named if isinstance(named, int) else place.rank,
        signature=row.id,
        details=details,
    )
