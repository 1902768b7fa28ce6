"""Who notices what, and when: ``python -m tests.faultlab.peers.table``.

The judge of the laboratory asks for our classes and our words; other people's programs say it in
their own. Here an alarm counts if it comes after the injection, and is read as kindly as its
words allow. Every row waits until the slowest rule of its watcher has spoken, or ``--patience``
seconds. Faults that a watcher does not claim are shown and not summed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..catalogue import FAULTS
from ..lab import RANK, Alarm, Fault, Outcome
from ..runner import Board, Task, run_all
from ..watchers import Middlewatch, Watcher
from .all import PEERS, peers
from .peer import Peer, PeerAlarm

MAKERS: Mapping[str, Callable[[], Watcher]] = {"middlewatch": Middlewatch, **peers()}
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
LEGEND = (
    "Seconds from the trouble to the first alarm whose words fit it; in (round brackets) the first "
    "alarm of a row where none fits; `-` nothing in the time given; *slanted* if the watcher does "
    "not claim the fault, and then not summed; `N false` are alarms where nothing was wrong, or about nothing that was (load)."
)


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one watcher made of one row, all repeats together."""

    claimed: bool
    named: list[float]
    told: list[float]
    runs: int
    false: int
    names_run: int
    why_not: str = ""

    def text(self, control: bool) -> str:
        """For a table."""
        if self.why_not:
            return "not run"
        if control:
            return f"{self.false} false" if self.false else "quiet"
        if self.named:
            text = f"{_middle(self.named):.0f} s"
        else:
            text = f"({_middle(self.told):.0f} s)" if self.told else "-"
        if self.runs > 1:
            text += f" {len(self.named)}/{self.runs}"
        if self.false:
            text += f", {self.false} false"
        return text if self.claimed else f"*{text}*"


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]


def claims(watcher: str, fault: Fault) -> bool:
    """The watcher says somewhere that it covers this; middlewatch claims everything."""
    if fault.kind == "control":
        return False
    for peer in PEERS:
        for style, claimed in peer.claims.items():
            if watcher == f"{peer.peer}-{style}":
                return bool(fault.classes & set(claimed))
    return True


def cell(watcher: str, fault: Fault, outcomes: Iterable[Outcome]) -> Cell:
    """Read the outcomes of one row under one watcher."""
    named: list[float] = []
    told: list[float] = []
    false = names = runs = 0
    why_not = ""
    for outcome in outcomes:
        if outcome.state != "judged":
            why_not = outcome.reason
            continue
        runs += 1
        audible = [a for a in outcome.alarms if RANK.get(a.severity, -1) > 0]
        begun = outcome.injected if fault.kind != "control" else None
        after = [a for a in audible if begun is not None and a.at >= begun]
        fitting = [a for a in after if a.trouble in fault.classes]
        # What follows from the trouble (the process is gone) is true, if not its cause.
        false += len(audible) - len(after) + sum(a.trouble is None for a in after)
        if begun is not None and fitting:
            named.append(fitting[0].at - begun)
            names += any(_names(a) for a in fitting)
        if begun is not None and after:
            told.append(after[0].at - begun)
    return Cell(claims(watcher, fault), named, told, runs, false, names, why_not)


def _names(alarm: Alarm) -> bool:
    return not isinstance(alarm, PeerAlarm) or alarm.names_run("gpt")


def patient(fault: Fault, watcher: str, patience_s: float | None) -> Fault:
    """The row, waited for as long as its watcher needs (``Fault.patience_s`` follows)."""
    slowest = next(
        (p.slowest_s[s] for p in PEERS for s in p.slowest_s if watcher == f"{p.peer}-{s}"), 0.0
    )
    wait = max(fault.patience_s, min(slowest, patience_s or slowest))
    return dataclasses.replace(fault, deadline_s=(wait - 20) / 1.5)


def make(watcher: str, fault: Fault) -> Watcher:
    """A watcher that reads its alarms with this row in mind."""
    made = MAKERS[watcher]()
    if isinstance(made, Peer):
        made.row = fault
    return made


def markdown(watchers: Sequence[str], rows: Mapping[str, Mapping[str, Cell]]) -> str:
    """The table, one line a row."""
    kinds = {f"{f.number} {f.name}": f.kind for f in FAULTS}
    lines = ["| row | " + " | ".join(watchers) + " |", "|---" * (len(watchers) + 1) + "|"]
    for row, cells in rows.items():
        texts = [cells[w].text(kinds[row] == "control") for w in watchers]
        lines.append(f"| {row} | " + " | ".join(texts) + " |")
    for title, value in (("found of claimed", _found), ("false alarms", _false)):
        texts = [value([cells[w] for cells in rows.values()]) for w in watchers]
        lines.append(f"| **{title}** | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _found(cells: Iterable[Cell]) -> str:
    asked = [c for c in cells if c.claimed and c.runs and not c.why_not]
    return f"{sum(len(c.named) for c in asked)} of {sum(c.runs for c in asked)}"


def _false(cells: Iterable[Cell]) -> str:
    return str(sum(c.false for c in cells))


def main(argv: list[str] | None = None) -> int:
    """Run the rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows by name, number or kind, with commas")
    parser.add_argument("--watchers", default=",".join(MAKERS), help="with commas")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4, help="rows at the same time")
    parser.add_argument("--patience", type=float, help="wait no longer for a slow rule, seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also everything that was told")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    args = parser.parse_args(argv)
    words = [w for w in args.only.split(",") if w]
    # Rows against us do something to our own daemon.
    rows_of_all = [f for f in FAULTS if f.kind != "against_us"]
    faults = [f for f in rows_of_all if not words or {f.name, f.number, f.kind} & set(words)]
    watchers = args.watchers.split(",")
    tasks = [
        Task(patient(f, w, args.patience), w, partial(make, w, f), repeat, 1)
        for w in watchers
        for f in faults
        for repeat in range(args.repeat)
    ]
    outcomes = run_all(tasks, args.jobs, _show)
    rows = {
        f"{f.number} {f.name}": {
            w: cell(w, f, (o for o in outcomes if o.watcher == w and o.fault.name == f.name))
            for w in watchers
        }
        for f in faults
    }
    text = markdown(watchers, rows)
    print(text)
    if args.json:
        args.json.write_text(json.dumps([_told(o) for o in outcomes], indent=1))
    if args.write:
        page = args.write.read_text()
        before, _, rest = page.partition(BEGIN)
        args.write.write_text(f"{before}{BEGIN}\n{LEGEND}\n\n{text}\n{END}{rest.partition(END)[2]}")
    return 0


def _show(board: Board, outcome: Outcome | None) -> None:
    if outcome is not None:
        print(
            f"[{len(board.done)}/{board.total}] {outcome.watcher} {outcome.fault.name}: "
            f"{outcome.state} {outcome.reason}",
            file=sys.stderr,
            flush=True,
        )


def _told(outcome: Outcome) -> dict[str, Any]:
    return {
        "row": outcome.fault.name,
        "watcher": outcome.watcher,
        "state": outcome.state,
        "reason": outcome.reason,
        "injected": outcome.injected,
        "alarms": [dataclasses.asdict(a) for a in outcome.alarms],
    }


if __name__ == "__main__":
    sys.exit(main())
