"""``metrics``: the numbers of a run over a window, for a person, as CSV or as JSON."""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from middlewatch.sentinels.kit import Step
from middlewatch.sentinels.kit.numbers import number

from ..parsers import backlog
from ..parsers.metric_readers import is_readable
from ..replay.decompress import DamagedLog
from ..replay.log_input import open_log
from ..report.metric_rows import MetricRow, names, of_kept, of_steps, timed, within
from ..system.clock import SystemClock, iso
from ..system.errors import UsageError
from ..text.moments import local
from . import console
from .context import client
from .silence import seconds

SHOWN = 40
"""Rows that a person is shown at most, the newest (our choice); ``--csv`` and ``--json`` give all."""
COLUMNS = 6
"""Metrics that a person is shown beside the step."""
_STEPS = re.compile(r"(\d+(?:\.\d+)?)?:(\d+(?:\.\d+)?)?|(\d+(?:\.\d+)?)")


def metrics(args: argparse.Namespace) -> int:
    """Print the reports of a run in the window that is asked for."""
    first, last = _steps(args.step)
    if args.csv and args.json:
        raise UsageError("--csv and --json are two forms of one answer", "give one of them")
    now = SystemClock().now()
    since = now - seconds(args.since) if args.since else None
    answer = client(args).ask("metrics", run=args.run)
    rows, source = _rows(answer)
    timed(rows, [(step, at) for step, at in answer["times"]])
    chosen = list(within(rows, since, first, last))
    shown = names(chosen)
    if args.json:
        console.as_json(
            {
                "run": answer["run"],
                "source": source,
                "names": shown,
                "rows": [_json(row) for row in chosen],
            }
        )
    elif args.csv:
        _csv(chosen, shown)
    else:
        _table(answer["run"], chosen, shown, source, now)
    return 0


def _steps(text: str | None) -> tuple[float | None, float | None]:
    """``100:200``, ``100:``, ``:200`` or ``100``. Raises UsageError."""
    if text is None:
        return None, None
    match = _STEPS.fullmatch(text.strip())
    if match is None or text.strip() == ":":
        raise UsageError(f"cannot read the steps {text!r}", "--step 1000:2000, 1000: or :2000")
    if match[3]:
        return float(match[3]), float(match[3])
    first, last = (float(one) if one else None for one in match.groups()[:2])
    if first is not None and last is not None and last < first:
        raise UsageError(f"{text}: the steps end before they begin", "--step 1000:2000")
    return first, last


def _rows(answer: dict[str, Any]) -> tuple[list[MetricRow], str]:
    """The reports, and where they are from: ``log``, every one; ``daemon``: what it keeps of a run whose
    logs cannot be read here."""
    found: list[MetricRow] = []
    for path in answer["logs"]:
        if not path.startswith("docker:") and not is_readable(path):
            found += of_steps(_read(path))
    return (found, "log") if found else (of_kept(answer), "daemon")


def _read(path: str) -> Iterator[Step]:
    """The reports of one log; of a damaged or unreadable one those that can be read."""
    try:
        source = open_log(path)
    except UsageError:
        return
    reader = backlog.everything(path)
    try:
        for chunk in source.chunks():
            yield from (seen for seen in reader.feed(chunk, 0.0) if isinstance(seen, Step))
    except (DamagedLog, UsageError) as error:
        console.complain(f"middlewatch: {path}: {error}")
    finally:
        source.close()
    yield from (seen for seen in reader.finish(0.0) if isinstance(seen, Step))


def _json(row: MetricRow) -> dict[str, Any]:
    return {
        "at": iso(row.at),
        "at_is_estimated": row.about,
        "step": row.step,
        "epoch": row.epoch,
        "values": row.values,
    }


def _csv(rows: Sequence[MetricRow], shown: Sequence[str]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("at", "step", "epoch", *shown))
    for row in rows:
        values = (row.values.get(name) for name in shown)
        cells = (iso(row.at), row.step, row.epoch, *values)
        out.writerow(["" if cell is None else _cell(cell) for cell in cells])


def _cell(value: object) -> object:
    """A number as it was, a whole one without a point. ``nan`` and ``inf`` as Python writes them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _table(
    run: str, rows: Sequence[MetricRow], shown: Sequence[str], source: str, now: float
) -> None:
    if not rows:
        console.say(f"{run}: no report in this window")
        return
    columns = shown[:COLUMNS]
    newest = rows[-SHOWN:]
    console.table(
        ("TIME", "STEP", *(name.upper() for name in columns)),
        [
            (
                "-" if row.at is None else ("~" if row.about else "") + local(row.at, now),
                "-" if row.step is None else number(row.step),
                *(_short(row.values.get(name)) for name in columns),
            )
            for row in newest
        ],
    )
    if len(rows) > len(newest):
        console.say(f"the newest {len(newest)} of {len(rows)} reports; all: --csv or --json")
    if len(shown) > COLUMNS:
        console.say(f"also known: {', '.join(shown[COLUMNS:])}")
    if source == "daemon":
        console.say("its logs cannot be read here: these are the reports that the daemon keeps")


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"
