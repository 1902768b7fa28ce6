"""Whether the log of a program reads like that of a training, when nothing else about it does.

A script called ``rl.py`` that uses numpy only has no name, no framework and no GPU by which it could
be known. Its log tells: numbered reports, with a quantity that training improves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ..parsers.recurring import LiveReader
from ..system import places
from ..system.far import FarMounts
from ..system.processes import OpenFile, Process, Processes
from .log_files import log_like

TAIL_BYTES = 64 << 10
"""Bytes of the end of a log that are read: a few milliseconds."""
REPORTS = 5
"""Reports at different steps, in order: fewer may be the table of a test."""
_LEARNT = re.compile(
    r"loss|^lr$|grad_norm|reward|(?:^|_)rew(?:$|_)|return|perplexity|entrop|энтропи|熵|エントロピー"
    r"|belohnung|beloning|récompense|recompensa|ricompensa|nagroda|ödül|награда|奖励|獎勵|報酬|보상"
)
"""Quantities that a training improves, in the languages of its authors: losses have names of ours."""


def tees(processes: Processes) -> list[Process]:
    """The programs that copy what others print into files."""
    return [process for process in processes.values() if process.comm == "tee"]


def reports_training(
    process: Process, known: dict[str, int] | None = None, copiers: Sequence[Process] = ()
) -> str:
    """The local file with such reports to which the process writes; empty: none.

    Several programs of one script may have the same file as their output. Only one that has given at
    least as many bytes to write calls as the reports are long can have written them. ``known``: the
    logs that were read for other processes, and the bytes of their reports; a thousand workers share one.
    ``copiers``: the :func:`tees` of the box; what one copies from a pipe is of the program that prints
    into that.
    """
    most = process.written_bytes
    outputs = (process.file(1), process.file(2))
    told = [file for file in outputs if file is not None and file.regular and file.writable]
    pipes = {
        file.target for file in outputs if file is not None and file.target.startswith("pipe:")
    }
    for copier in copiers if pipes else ():
        source = copier.file(0)
        if source is not None and source.target in pipes:
            told += [file for file in copier.files if file.regular and file.writable]
    for file in (*told, *log_like(process)):
        if known is None or process.is_elsewhere:  # the same name may be another file there
            size = _reports(file)
        else:
            size = known[file.target] if file.target in known else _reports(file)
            known[file.target] = size
        if size and (most is None or size <= most):
            return file.target
    return ""


def _reports(file: OpenFile) -> int:
    """Bytes of the first reports of a training in the file; 0 when there are not enough."""
    reader, size = LiveReader(file.target), 0
    numbers: list[float] = []
    for line in _tail(file).splitlines(keepends=True):
        for seen in reader.feed(line, 0.0):
            number, values = getattr(seen, "number", None), getattr(seen, "values", None)
            number = getattr(seen, "epoch", None) if number is None else number
            if number is not None and values and any(map(_LEARNT.search, values)):
                if not numbers or number > numbers[-1]:
                    numbers.append(number)
                    size += len(line)
                if len(numbers) >= REPORTS:
                    return size
    return 0


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
