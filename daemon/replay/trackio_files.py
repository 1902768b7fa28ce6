"""The database of a project of trackio (``PROJECT.db``) as lines of text, so that it is read like any other log.

``trackio.log({"loss": 0.5}, step=120)`` becomes the line ``step=120 loss=0.5``. The format is SQLite, with the table
``metrics(id, run_id, run_name, step, metrics, …)`` (trackio/sqlite_storage.py, 0.43); ``metrics`` is JSON in which
``NaN`` and infinities are strings. A project has several runs in one file: the newest is read, as one log is
one run.

A copy is read, as even a reader of SQLite writes beside a database; what a killed program has not yet brought into
it stands in ``PROJECT.db-wal`` and is read with it.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ..system.errors import UsageError

DATABASE = "SQLite database"
"""The kind of such a file, for a person."""
_NEWEST = "SELECT run_name FROM metrics ORDER BY id DESC LIMIT 1"
_ROWS = "SELECT step, metrics FROM metrics WHERE run_name = ? ORDER BY id"
_BLANK = re.compile(r"[\s=,]+")
_NOT_FINITE = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}


def trackio_text(raw: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines of the newest run of the database with these bytes. ``name``: its path.

    Raises UsageError for a database that is none of trackio."""
    import sqlite3  # seldom needed

    with tempfile.TemporaryDirectory(prefix="middlewatch-") as folder:
        copy = Path(folder) / "project.db"
        with copy.open("wb") as to:
            to.writelines(raw)
        log = Path(f"{name}-wal")
        if log.is_file():
            shutil.copyfile(log, f"{copy}-wal")
        try:
            with closing(sqlite3.connect(copy)) as database:
                newest = database.execute(_NEWEST).fetchone()
                rows = database.execute(_ROWS, newest or ("",))
                yield from filter(None, (_line(*row) for row in rows))
        except sqlite3.Error as error:
            raise UsageError(
                f"{name} cannot be read: it is a SQLite database, but none of trackio ({error})",
                "name a log, or PROJECT.db of trackio",
            ) from error


def _line(step: Any, metrics: Any) -> bytes:
    """The line of a report; empty where it has no number."""
    try:
        named = json.loads(metrics)
    except (TypeError, ValueError):
        return b""
    if not isinstance(named, dict):
        return b""
    shown = [
        f"{_BLANK.sub('_', key)[:80]}={value}"
        for key, one in named.items()
        if (value := _number(one))
    ]
    return " ".join([f"step={step}", *shown]).encode("utf-8", "replace") + b"\n" if shown else b""


def _number(value: object) -> str:
    """A number as a log writes it; empty for anything else."""
    if isinstance(value, str):
        return _NOT_FINITE.get(value, "")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:.7g}" if number else ""
