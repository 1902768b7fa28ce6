"""The database of a project of trackio. Its tables and rows are those that its client (0.43) wrote."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.replay.log_input import open_log
from middlewatch.daemon.system.errors import UsageError

TABLE = """CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
 run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT)"""


def add(database: sqlite3.Connection, run: str, step: int, said: dict[str, Any]) -> None:
    row = (
        "89390761b845489f",
        "2026-11-26T12:42:00.702280+00:00",
        run,
        step,
        json.dumps(said).encode(),
    )
    names = "run_id, timestamp, run_name, step, metrics"
    database.execute(f"INSERT INTO metrics ({names}) VALUES (?, ?, ?, ?, ?)", row)
    database.commit()


def made(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = wal")
    database.execute(TABLE)
    return database


def text(path: Path) -> str:
    source = open_log(str(path))
    try:
        return b"".join(source.chunks()).decode()
    finally:
        source.close()


def test_the_reports_of_the_newest_run(tmp_path: Path) -> None:
    database = made(tmp_path / "p.db")
    add(database, "old", 0, {"loss": 9.0})
    add(database, "new run", 0, {"loss": 2.0, "val/acc": 0.5, "note": "x", "flag": True})
    add(database, "new run", 10, {"train loss": "NaN", "image": {"_type": "trackio.image"}})
    add(database, "new run", 20, {"note": "only words"})
    database.close()
    assert text(tmp_path / "p.db") == "step=0 loss=2 val/acc=0.5\nstep=10 train_loss=nan\n"


def test_what_is_not_yet_in_the_database_is_read_with_it(tmp_path: Path) -> None:
    database = made(tmp_path / "p.db")
    add(database, "r", 0, {"loss": 2.0})
    assert (tmp_path / "p.db-wal").stat().st_size
    before = sorted(p.name for p in tmp_path.iterdir())
    assert text(tmp_path / "p.db") == "step=0 loss=2\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    database.close()


def test_a_project_without_reports_is_an_empty_log(tmp_path: Path) -> None:
    made(tmp_path / "p.db").close()
    assert text(tmp_path / "p.db") == ""


def test_another_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as other:
        other.execute("CREATE TABLE t (a)")
    other.close()
    with pytest.raises(UsageError, match="none of trackio"):
        text(tmp_path / "x.db")
