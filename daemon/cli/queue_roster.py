"""Where the cells of a queue are, for people and programs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from middlewatch.sentinels.kit.numbers import span

from ..queues import claims
from ..queues.places import QueuePlace
from ..queues.roster import CellState, QueueState, ending
from ..queues.runner import lives
from ..queues.store import QueueStore
from ..system import procfs
from ..system.clock import iso
from . import console

FEW = 12
"""Rows that are shown when a queue is started; `--status` shows all. Our choice."""


@dataclass(slots=True)
class Row:
    """One cell as it is now. ``since``: epoch seconds."""

    name: str
    standing: str
    since: float
    how: str
    cell: CellState


@dataclass(slots=True)
class Status:
    """The whole queue as it is now."""

    place: QueuePlace
    roster: QueueState
    alive: bool
    now: float
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[str]:
        """Cells that failed or are lost."""
        return [row.name for row in self.rows if row.standing in ("failed", "lost")]

    @property
    def state(self) -> str:
        """``running``, ``finished``, ``failed``, ``stopped``, or ``interrupted``: cells are left and nobody
        starts them."""
        if self.alive and not self.roster.over:
            return "stopped" if self.roster.stopped else "running"
        if any(row.standing in ("waiting", "claimed", "running") for row in self.rows):
            return "stopped" if self.roster.stopped else "interrupted"
        return "failed" if self.failed else "finished"


def failed_names(roster: QueueState) -> list[str]:
    """Cells that failed or are lost, by the journal."""
    return [cell.name for cell in roster.named("failed", "lost")]


def status_of(place: QueuePlace, store: QueueStore, notes: Sequence[str]) -> Status:
    """The journal, and what is true of the processes now: nothing is written down here."""
    roster = store.roster
    status = Status(place, roster, lives(roster.runner), store.clock.now())
    boot = procfs.boot_id()
    status.rows = [_row(cell, boot) for cell in roster.cells.values() if cell.standing != "out"]
    status.notes = [*notes, *roster.notes]
    return status


def _row(cell: CellState, boot: str) -> Row:
    row = Row(cell.name, cell.standing, cell.since, cell.how, cell)
    if cell.standing == "running" and cell.last is not None:
        seen = claims.look(cell.last, boot)
        if seen.what == "lost":
            row.standing, row.how = "lost", seen.how
        elif seen.exit is not None:
            row.standing = "finished" if seen.exit.exit_code == 0 else "failed"
            row.how = ending(seen.exit.exit_code, seen.exit.signal)
            row.since = seen.exit.ended_at
    return row


def as_dict(status: Status) -> dict[str, Any]:
    """What ``queue --json`` prints."""
    counts: dict[str, int] = {}
    for row in status.rows:
        counts[row.standing] = counts.get(row.standing, 0) + 1
    return {
        "queue": status.place.name,
        "file": status.roster.file,
        "state": status.state,
        "folder": str(status.place.folder),
        "settings": dict(status.roster.settings),
        "runner": {"pid": status.roster.runner.get("pid"), "alive": status.alive},
        "counts": counts,
        "failed": status.failed,
        "cells": [_cell(row) for row in status.rows],
        "notes": status.notes,
    }


def _cell(row: Row) -> dict[str, Any]:
    last = row.cell.last
    return {
        "cell": row.name,
        "state": row.standing,
        "how": row.how,
        "since": iso(row.since),
        "command": list(row.cell.words),
        "dir": row.cell.dir,
        "attempts": len(row.cell.attempts),
        "run": (last.watched if last and ":" not in last.watched else "") or (last and last.run),
        "watched": bool(last and last.watched and ":" not in last.watched),
        "pid": last and last.pid,
        "log": last and last.log,
        "exit_code": last.exit_code if last else None,
        "signal": last.signal if last else None,
        "gpus": list(last.gpus) if last else [],
        "waits_until": iso(row.cell.gate_until) if row.standing == "waiting" else None,
        "notes": list(row.cell.notes),
    }


def show(status: Status, *, whole: bool = False) -> None:
    """Print it for a person."""
    told = as_dict(status)
    counts = ", ".join(f"{count} {what}" for what, count in sorted(told["counts"].items()))
    console.say(f"{status.place.name}: {status.state}: {counts or 'no cell yet'}")
    rows = status.rows if whole else _first(status.rows)
    if rows:
        console.table(
            ("cell", "state", "for", "run", "how"),
            [
                (row.name, row.standing, span(max(0.0, status.now - row.since)), _run(row), row.how)
                for row in rows
            ],
        )
    if len(rows) < len(status.rows):
        console.say(f"  and {len(status.rows) - len(rows)} more: --status")
    for row in rows:
        for note in row.cell.notes:
            console.say(f"  note    {row.name}: {note}")
    for note in status.notes:
        console.say(f"  note    {note}")
    file = shlex.quote(status.roster.file)
    if status.failed:
        console.say(f"  failed  {', '.join(status.failed)}")
        console.say(f"  again   middlewatch queue {file} --retry failed")
    console.say(f"  journal {status.place.journal}")
    if status.state == "interrupted":
        console.say(f"  nobody starts the rest; to go on: middlewatch queue {file}")
    elif status.state in ("running", "stopped") and not whole:
        console.say(f"  current state: middlewatch queue {file} --status")


def _first(rows: Sequence[Row]) -> list[Row]:
    """The rows that matter most, a screen of them, in the order of the file."""
    waiting = [row for row in rows if row.standing == "waiting"]
    others = [row for row in rows if row.standing not in ("waiting", "finished", "elsewhere")]
    chosen = {id(row) for row in [*others[:FEW], *waiting][:FEW]}
    return [row for row in rows if id(row) in chosen]


def _run(row: Row) -> str:
    last = row.cell.last
    return "" if last is None else (last.watched if ":" not in last.watched else "") or last.run
