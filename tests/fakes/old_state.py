"""The state directory that the daemon of 0.1.0 left: a run whose loss became infinite at step 334.

``tests/data/state-0.1.0`` was written by that daemon (a training of two minutes, six checkpoints,
a box without a GPU, one alert that was sent); paths and the identity of the box were made neutral.
``every_ledger.json`` is what its history and its reader saved of a run with every oddity.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "data" / "state-0.1.0"
RUN = "gpt-164f"
INCIDENT = "e09a17"
READ = 16748
"""Bytes of its log that it had read; more lie behind them."""


def lay_down(root: Path) -> Path:
    """The store and the log below ``root``, as ``root/state``."""
    state = root / "state"
    log = state / "runs" / RUN / "output.log"
    log.parent.mkdir(parents=True)
    log.write_bytes((DATA / "output.log").read_bytes())
    with contextlib.closing(sqlite3.connect(state / "middlewatch.sqlite")) as db, db:
        db.executescript((DATA / "middlewatch.sql").read_text().replace("/data/run", str(root)))
    return state


def every_ledger() -> dict[str, Any]:
    """``history`` and ``reader``, as they were saved."""
    saved: dict[str, Any] = json.loads((DATA / "every_ledger.json").read_text())
    return saved
