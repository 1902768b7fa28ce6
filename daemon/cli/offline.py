"""Reading the store when no daemon runs. Only commands do this, with sqlite-utils."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from typing import Any

from middlewatch.sentinels.handbook import page

from ..config.paths import StateDir
from ..config.run_spec import RunSpec
from ..judge.incidents import Incident
from ..report.facts import incident


def stored_incidents(
    state: StateDir, *, everything: bool, run: str | None = None
) -> list[dict[str, Any]]:
    """The incidents in the store of a stopped daemon, in the shape of ``incidents --json``.

    ``everything``: resolved ones too. ``run``: only those of the run with this id. Empty when the
    store cannot be read.
    """
    found = []
    for doc in _docs(state, "incident"):
        one = Incident.from_json(doc)
        if (everything or one.state != "resolved") and run in (None, one.run):
            found.append(incident(one, page(one.trouble)))
    return found


def stored_runs(state: StateDir) -> list[RunSpec]:
    """The runs in the store, newest first. Empty when it cannot be read."""
    found = []
    for doc in _docs(state, "run"):
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            found.append(RunSpec.from_json(doc["spec"]))
    return sorted(found, key=lambda spec: spec.started_at, reverse=True)


def _docs(state: StateDir, kind: str) -> list[dict[str, Any]]:
    """The documents of one kind, oldest first; none when the store cannot be read."""
    if not state.store.exists():
        return []
    import sqlite_utils

    try:
        with closing(sqlite3.connect(f"{state.store.as_uri()}?mode=ro", uri=True)) as connection:
            database = sqlite_utils.Database(connection)
            rows = list(database["docs"].rows_where("kind = ?", [kind], order_by="at"))
    except sqlite3.Error:
        return []
    return [json.loads(row["doc"]) for row in rows]
