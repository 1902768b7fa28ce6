"""``logs``: the newest lines of a run's log, and those that come."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any

from ..config.secrets import mask
from ..parsers.metric_readers import is_readable
from ..system.errors import UsageError
from . import console
from .context import client

EVERY_S = 0.5
READ_BYTES = 256 * 1024
"""From the end of a log, to find its last lines; more at once while it is followed."""
LINE_BYTES = 8192
"""Of a line, shown at most."""


def logs(args: argparse.Namespace) -> int:
    """Print the last lines of the log of a run that grew last. Raises UsageError without a log that can be
    read here."""
    status = client(args).ask("status", run=args.run)
    if args.json:
        console.as_json(status["logs"])
        return 0
    rows = [row for row in status["logs"] if not row["path"].startswith("docker:")]
    if args.lines < 0:
        raise UsageError(f"-n takes a whole number of 0 or more, not {args.lines}", "-n 50")
    if args.file:
        known = ", ".join(row["path"] for row in rows) or "none"
        rows = [row for row in rows if args.file in row["path"]]
        if not rows:
            raise UsageError(
                f"no log of {status['run']} has {args.file!r} in its path", f"its logs: {known}"
            )
    rows.sort(key=lambda row: row["grown_at"] or "")
    if not rows or is_readable(rows[-1]["path"]):
        return _kept(args, status)
    path = rows[-1]["path"]
    try:
        with open(path, "rb") as log:
            for line in _last(log, args.lines):
                _show(line)
            if args.follow:
                for line in _coming(log):
                    _show(line)
    except OSError as error:
        if args.follow:
            reason = error.strerror or error
            raise UsageError(f"{path} cannot be read: {reason}", "run it as its user") from error
        return _kept(args, status)
    return 0


def _kept(args: argparse.Namespace, status: dict[str, Any]) -> int:
    """The lines that the daemon keeps: of a log that can only be read there."""
    if args.follow or not status["log_tail"]:
        where = ", ".join(row["path"] for row in status["logs"]) or "none is known"
        raise UsageError(
            f"no log of {status['run']} can be read here: {where}",
            "name one: middlewatch watch --pid PID --log FILE",
        )
    for line in status["log_tail"][-args.lines :]:
        console.say(line)
    return 0


def _last(log: Any, lines: int) -> list[bytes]:
    size = os.fstat(log.fileno()).st_size
    log.seek(max(0, size - READ_BYTES))
    data = log.read()
    found = data.split(b"\n")
    log.seek(-len(found.pop()), os.SEEK_CUR)  # a line without an end is shown when it has one
    return [line for line in found[-lines:] if line] if lines else []


def _coming(log: Any) -> Iterator[bytes]:
    held = b""
    while True:
        data = log.read(READ_BYTES)
        if not data:
            if os.fstat(log.fileno()).st_size < log.tell():
                log.seek(0)  # it was emptied
            time.sleep(EVERY_S)
            continue
        *whole, held = (held + data).split(b"\n")
        yield from whole
        held = held[:LINE_BYTES]


def _show(line: bytes) -> None:
    newest = line[-READ_BYTES:].rstrip(b"\r").rpartition(b"\r")[2]
    console.say(mask(newest[:LINE_BYTES].decode("utf-8", "replace")), flush=True)
