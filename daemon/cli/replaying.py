"""``replay``: what happened in finished logs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from middlewatch.sentinels.kit import discover
from middlewatch.sentinels.kit.numbers import number

from ..errors import UsageError
from ..replay import CHUNK, Replay
from . import out
from .context import configuration


def replay(args: argparse.Namespace) -> int:
    """Read every file; exit 1 when one of them failed."""
    config = configuration(args)
    sentinels = {n: s for n, s in discover().items() if n not in config.disabled}
    failed = False
    for name in args.file:
        with _open(name) as stream:
            reading = Replay(name, sentinels, dict(config.limits), _bug)
            records = reading.read(_chunks(name, stream), metrics=args.metrics and args.json)
            for record in records if args.json else _human(records):
                if args.json:
                    out.as_line(record)
                failed = failed or record.get("verdict") == "failed"
    return int(failed)


def _bug(text: str) -> None:
    print(f"middlewatch: {text}", file=sys.stderr)


def _open(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error


def _chunks(name: str, stream: BinaryIO) -> Iterator[bytes]:
    try:
        while chunk := stream.read(CHUNK):
            yield chunk
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error


def _human(records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Print for a person while passing the records on."""
    for record in records:
        if record["type"] == "finding":
            print(
                f"{out.clean(record['file'])}:{record['line']}: {out.paint(record['severity'])} "
                f"{record['class']}: {out.clean(record['summary'])}"
            )
        elif record["type"] == "end":
            cause = f", cause {record['cause']}" if record["cause"] else ""
            last = record["last_step"]
            step = "" if last is None else f", last step {number(last)}"
            print(
                f"{out.clean(record['file'])}: {out.paint(record['verdict'])}{cause}{step} "
                f"({record['lines']} lines)"
            )
        yield record
