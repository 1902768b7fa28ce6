"""Who notices what, and when: ``python -m tests.faultlab.peers.table``.

The judge of the laboratory asks for our classes and our words; other people's programs say it in
their own. Here an alarm counts if it comes after the injection, and is read as kindly as its
words allow. All peers watch the same job (``Together``). A row is over when everybody who claims
it has spoken, or could have, or after ``--patience`` seconds; a rule that is slower by design is
then no miss. Faults that a peer does not claim are shown and not summed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..catalogue import FAULTS
from ..lab import Fault, Outcome
from ..runner import Board, Task, run_all
from .all import peers
from .cells import Cell, cell, markdown, of_middlewatch
from .peer import PeerAlarm
from .together import Together, rules

BEGIN, END = "<!-- table -->", "<!-- end of table -->"
UNCLAIMED_S = 45.0
"""How long a row that nobody claims is watched after its injection."""
WEIGHT = 0.4
"""Cores that eight peers burn beside the job: two agents of netdata, most of it."""

ROWS = {fault.name: fault for fault in FAULTS if fault.kind != "against_us"}
"""Rows against us do something to our own daemon."""


def asked(fault: Fault, names: Sequence[str], patience_s: float) -> Fault:
    """The row, waited for as long as the slowest rule that can speak in time."""
    known = [took for name in names if (took := rules(name, fault)) is not None]
    waits = [min(slow, patience_s) for fast, slow in known if fast <= patience_s]
    wait = max(waits, default=min(UNCLAIMED_S, patience_s))
    # ``Fault.patience_s`` follows from the deadline.
    return dataclasses.replace(fault, deadline_s=(wait - 20) / 1.5, weight=fault.weight + WEIGHT)


def watch(names: Sequence[str], faults: Sequence[Fault], args: argparse.Namespace) -> list[Outcome]:
    """Run the rows; what came of each is written down at once."""
    made: dict[str, Together] = {}
    outcomes: list[Outcome] = []

    def maker(fault: Fault) -> Callable[[], Together]:
        def make() -> Together:
            made[fault.name] = Together(names, fault, args.patience)
            return made[fault.name]

        return make

    def show(board: Board, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        print(
            f"[{len(board.done)}/{board.total}] {outcome.fault.name}: "
            f"{outcome.state} {outcome.reason}",
            file=sys.stderr,
            flush=True,
        )
        shares = made[outcome.fault.name].shares(outcome)
        outcomes.extend(shares)
        if args.json:
            with args.json.open("a") as out:
                out.writelines(json.dumps(_record(one)) + "\n" for one in shares)

    tasks = [Task(asked(f, names, args.patience), Together.name, maker(f), 0, 1) for f in faults]
    run_all(tasks, args.jobs, show)
    return outcomes


def _record(outcome: Outcome) -> dict[str, Any]:
    fields = ("watcher", "state", "reason", "begun", "injected", "ended")
    alarms = [dataclasses.asdict(alarm) for alarm in outcome.alarms]
    told = {name: getattr(outcome, name) for name in fields}
    return {"row": outcome.fault.name, **told, "alarms": alarms}


def read(file: Path) -> list[Outcome]:
    """What ``--json`` wrote; a row that is there twice counts as it was the last time."""
    latest: dict[tuple[str, str], Outcome] = {}
    for line in file.read_text().splitlines():
        told = json.loads(line)
        fault = ROWS.get(told.pop("row"))
        if fault is not None:
            alarms = [PeerAlarm(**{**a, "fits": tuple(a["fits"])}) for a in told.pop("alarms")]
            one = Outcome(fault, repeat=0, **told, alarms=list(alarms))
            latest[fault.name, one.watcher] = one
    return list(latest.values())


def cells_of(outcomes: Iterable[Outcome]) -> dict[str, dict[str, Cell]]:
    """By row and watcher, the rows in the order of the catalogue."""
    found: dict[str, dict[str, Cell]] = {name: {} for name in ROWS}
    for one in outcomes:
        found[one.fault.name][one.watcher] = cell(one)
    return {name: cells for name, cells in found.items() if cells}


def write(page: Path, text: str) -> None:
    """Put the table into the page, between its two marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main(argv: list[str] | None = None) -> int:
    """Run the rows, or read what an earlier run wrote, and print the table."""
    names = list(peers())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows by name, number or kind, with commas")
    parser.add_argument("--peers", default=",".join(names), help="with commas")
    parser.add_argument("--jobs", type=int, default=2, help="rows at the same time")
    parser.add_argument("--patience", type=float, default=270.0, help="seconds, for a slow rule")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add each row that is done")
    parser.add_argument("--read", type=Path, metavar="FILE", help="run nothing: what --json wrote")
    parser.add_argument(
        "--middlewatch",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="what scripts/faultlab --json printed, whole or in parts",
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    args = parser.parse_args(argv)
    words = {w for w in args.only.split(",") if w}
    faults = [f for f in ROWS.values() if not words or {f.name, f.number, f.kind} & words]
    wanted = args.peers.split(",")
    if unknown := set(wanted) - set(names):
        parser.error(f"no peer is called {', '.join(sorted(unknown))}")
    missing = [
        make().install for name, make in peers().items() if name in wanted and make().absent()
    ]
    if missing and not args.read:
        parser.error(f"not installed: {'; '.join(sorted(set(missing)))}")
    rows = cells_of(read(args.read) if args.read else watch(wanted, faults, args))
    if args.middlewatch:
        ours = of_middlewatch([r for f in args.middlewatch for r in json.loads(f.read_text())])
        rows = {name: {**cells, **ours.get(name, {})} for name, cells in rows.items()}
        wanted = ["middlewatch", *wanted]
    text = markdown(wanted, [(ROWS[name], cells) for name, cells in rows.items()])
    print(text)
    if args.write:
        write(args.write, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
