"""Reading the store when no daemon runs: by sqlite-utils, in commands only."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

from middlewatch.sentinels.handbook import page

from ..incidents import Incident
from ..paths import StateDir
from ..report import incident


def stored_incidents(
    state: StateDir, *, everything: bool, run: str | None = None
) -> list[dict[str, Any]]:
    """What the store of a stopped daemon says, in the shape of ``incidents --json``.

    ``run`` is an id. Nothing when the store cannot be read.
    """
    if not state.store.exists():
        return []
    import sqlite_utils

    found = []
    try:
        with closing(sqlite3.connect(f"{state.store.as_uri()}?mode=ro", uri=True)) as connection:
            database = sqlite_utils.Database(connection)
            rows = list(database["docs"].rows_where("kind = ?", ["incident"], order_by="at"))
    except sqlite3.Error:
        return []
    for row in rows:
        one = Incident.from_json(json.loads(row["doc"]))
        if (everything or one.state != "resolved") and run in (None, one.run):
            found.append(incident(one, page(one.trouble)))
    return found
