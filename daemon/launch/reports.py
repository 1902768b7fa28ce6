"""Whether the log of a program reads like that of a training, when nothing else about it does.

A script called ``rl.py`` that uses numpy only has no name, no framework and no GPU by which it could
be known. Its log tells: numbered reports, with a quantity that training improves.
"""

from __future__ import annotations

import os
import re

from ..parsers.reader import LogReader
from ..system import places
from ..system.far import FarMounts
from ..system.processes import OpenFile, Process

TAIL_BYTES = 64 << 10
"""Bytes of the end of a log that are read: a few milliseconds."""
REPORTS = 5
"""Reports at different steps, in order: fewer may be the table of a test."""
_LEARNT = re.compile(r"loss|^lr$|grad_norm|reward|(?:^|_)rew(?:$|_)|return|perplexity|entropy")


def reports_training(process: Process, known: dict[str, bool] | None = None) -> bool:
    """True when stdout or stderr of the process goes to a local file with such reports.

    ``known``: the logs that were read for other processes; a thousand workers share one.
    """
    for file in (process.file(1), process.file(2)):
        if file is None or not (file.regular and file.writable):
            continue
        if known is None or process.is_elsewhere:  # the same name may be another file there
            reports = _reports(file)
        else:
            reports = known[file.target] if file.target in known else _reports(file)
            known[file.target] = reports
        if reports:
            return True
    return False


def _reports(file: OpenFile) -> bool:
    text = _tail(file)
    if not text:
        return False
    numbers: list[float] = []
    for seen in LogReader(file.target).feed(text, 0.0):
        number, values = getattr(seen, "number", None), getattr(seen, "values", None)
        number = getattr(seen, "epoch", None) if number is None else number
        if number is not None and values and any(map(_LEARNT.search, values)):
            if not numbers or number > numbers[-1]:
                numbers.append(number)
            if len(numbers) >= REPORTS:
                return True
    return False


def _tail(file: OpenFile) -> bytes:
    """The last lines of a file on this box; empty for any other, which may hang."""
    mounts = FarMounts()
    try:
        if mounts.of(file.target.removesuffix(" (deleted)"), 0.0) is not None:
            return b""
        fd = places.open_file(file.via)
    except OSError:
        return b""
    finally:
        mounts.close()
    try:
        return os.pread(fd, TAIL_BYTES, max(0, os.fstat(fd).st_size - TAIL_BYTES))
    except OSError:
        return b""
    finally:
        os.close(fd)
