"""``scripts/faultlab``: real trouble for real processes, and who notices it."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .catalogue import FAULTS, watchers
from .judge import Report, report
from .lab import INTERRUPTED, Fault, Outcome
from .runner import Board, Task, run_all


def main(argv: list[str] | None = None) -> int:
    """Exit status 0 if middlewatch holds the thresholds, 1 if not, 2 for a wrong question,
    130 when it was interrupted; one that judges only peers is about those."""
    args = _arguments().parse_args(argv)
    chosen = _chosen(args.only)
    if not chosen:
        print(f"no row is called {', '.join(args.only)}; --list tells all", file=sys.stderr)
        return 2
    if args.list:
        for fault in chosen:
            print(f"{fault.number:>5} {fault.kind:10} {fault.name:28} {_wanted(fault)}")
        return 0
    makers = watchers()
    names = list(makers) if args.watcher == "all" else [args.watcher]
    if args.watcher not in (*makers, "all"):
        print(f"watchers are: {', '.join((*makers, 'all'))}", file=sys.stderr)
        return 2
    tasks = [
        Task(fault, name, makers[name], repeat, args.seed, args.patience)
        for name in names
        for fault in chosen
        for repeat in range(args.repeat)
    ]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcomes = run_all(tasks, args.jobs, _progress(), args.keep)
    reports = [report(n, (o for o in outcomes if o.watcher == n)) for n in names]
    if args.json:
        print(json.dumps([r.as_json() for r in reports], indent=1))
    else:
        for one in reports:
            print(table(one))
    if len(outcomes) < len(tasks) or any(o.reason == INTERRUPTED for o in outcomes):
        return 130
    judged = [r for r in reports if r.watcher == "middlewatch"] or reports
    return 1 if any(r.failures() for r in judged) else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/faultlab", description=__doc__)
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="row by name, number or kind"
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="times each row")
    parser.add_argument("--jobs", type=int, default=10, metavar="N", help="rows at the same time")
    parser.add_argument("--watcher", default="middlewatch", help="whom to judge, or `all`")
    parser.add_argument(
        "--patience", type=float, default=0.0, metavar="S", help="watch each fault at least so long"
    )
    parser.add_argument("--seed", type=int, default=1, help="varies steps, sizes and formats")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--list", action="store_true", help="print the rows and stop")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs and state there")
    return parser


def _chosen(only: list[str]) -> list[Fault]:
    words = [w for one in only for w in one.split(",")]
    if not words:
        return list(FAULTS)
    return [f for f in FAULTS if f.name in words or f.number in words or f.kind in words]


def _wanted(fault: Fault) -> str:
    if fault.kind == "control":
        return f"silent for {fault.length_s:g} s"
    return f"{fault.least} {' or '.join(sorted(fault.classes))} in {fault.deadline_s:g} s"


def table(one: Report) -> str:
    """The report for people."""
    lines = [
        f"{one.watcher}:",
        f"{'row':>5} {'':28} runs found cause remedy    p50    p95 limit false",
    ]
    for row in one.rows:
        if not row.runs:
            why = (row.not_run + row.broken)[0]
            state = "not run" if row.not_run else "BROKEN"
            lines.append(f"{row.number:>5} {row.name:28} {state}: {why}")
            continue
        false = sum(len(j.false_pages) for j in row.runs)
        if row.kind == "control":
            loud = sum(j.loud for j in row.runs)
            told = "silent" if not loud else f"LOUD {loud} times"
            lines.append(f"{row.number:>5} {row.name:28} {len(row.runs):4} {told:37} {false:11}")
            continue
        lines.append(
            f"{row.number:>5} {row.name:28} {len(row.runs):4} {_share(row.share('found')):>5} "
            f"{_share(row.share('cause')):>5} {_share(row.share('remedy')):>6} "
            f"{_seconds(row.seconds(0.5)):>6} {_seconds(row.seconds(0.95)):>6} "
            f"{row.deadline_s:5.0f} {false:5}"
        )
    totals = one.totals()
    lines.append("  ".join(f"{what} {_share(share)}" for what, share in totals.items()))
    failures = one.failures()
    lines += [f"  - {why}" for why in failures] or ["all thresholds hold"]
    return "\n".join(lines)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f}"


def _progress() -> Callable[[Board, Outcome | None], None]:
    """One line that is written over on a terminal, else a line for each row that is done."""
    begun, live = time.monotonic(), sys.stderr.isatty()

    def show(board: Board, outcome: Outcome | None) -> None:
        if outcome is not None:
            state: str = outcome.state
            if outcome.state == "judged":
                one = report(outcome.watcher, [outcome]).rows[0].runs[0]
                good = not one.loud if one.found is None else one.found and one.in_time
                took = "" if one.seconds is None else f" after {one.seconds:.1f} s"
                state = ("ok" if good and not one.false_pages else "NOT OK") + took
            line = (
                f"[{len(board.done)}/{board.total}] {outcome.watcher} {outcome.fault.number} "
                f"{outcome.fault.name} #{outcome.repeat + 1}: {state} {outcome.reason}"
            )
            print(("\r\x1b[K" if live else "") + line.rstrip(), file=sys.stderr, flush=True)
        if live:
            width = shutil.get_terminal_size().columns - 1
            now = ", ".join(t.fault.name for t in board.running)
            spent = time.monotonic() - begun
            line = f"{len(board.done)}/{board.total} done, {spent:.0f} s; running: {now}"
            print("\r\x1b[K" + line[:width], end="", file=sys.stderr, flush=True)
            if len(board.done) == board.total:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    return show


if __name__ == "__main__":
    sys.exit(main())
