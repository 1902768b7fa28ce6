"""Load what came home with torch: here where it is, else on the box, whose files have the same digests."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..system.clock import Clock
from ..system.errors import MiddlewatchError, UsageError
from .connection import Box
from .proof import LOADED_ON_BOX

Entry = dict[str, Any]
Told = Callable[[str, int], None]
_FINE = (0, 1)
"""1: a checkpoint did not pass, which the answer says."""


def load_here(
    folder: str, entries: Sequence[Entry], python: str | None, clock: Clock, told: Told
) -> str:
    """Raise the level of each entry that torch here loads; returns why there is none, or an empty text.

    A checkpoint that torch does not load gets the state ``corrupt``. Raises UsageError for a
    ``python`` that cannot be used.
    """
    if not sys.platform.startswith("linux"):
        return "loading at home needs Linux, whose kernel walls the loader in"
    # Linux alone from here on.
    from ..checkpoints.load import interpreters, memory_budget
    from ..checkpoints.load import loader as loading

    paths = [f"{folder}/{entry['name']}" for entry in entries]
    try:
        found = interpreters.find(python, (), (), [], paths)
    except UsageError as error:
        if python is not None:
            raise
        return str(error)
    past = 0
    try:
        with loading.Loader(found, memory_budget.memory(), clock) as loader:
            for entry, path in zip(entries, paths, strict=True):
                begun, name = past, entry["name"]

                def tell(_path: str, done: int, _of: int, b: int = begun, n: str = name) -> None:
                    told(n, b + done)

                loaded = loader.check(path, tell)
                past += loading.total([path])
                if loaded.state == "corrupt":
                    entry |= {"state": "corrupt", "level": "load", "detail": loaded.detail}
                elif loaded.whole:
                    entry |= {"level": "load", "loaded_by": f"torch {loader.torch} here"}
                else:
                    entry["detail"] = loaded.detail
    except loading.NoLoader as error:
        return str(error)
    return ""


def load_on_box(box: Box, entries: Sequence[Entry]) -> str:
    """Have the box load what is still there; why it did not, or an empty text.

    Its answer counts only for a file with the digest that was read at home.
    """
    wanted = {entry["path"]: entry for entry in entries if not entry["gone_from_box"]}
    if not wanted:
        return "the box has none of them any more"
    try:
        answer = box.middlewatch("verify", "--deep", "--json", *wanted, ok=_FINE)
        rows = json.loads(answer)
    except (MiddlewatchError, ValueError) as error:
        return str(error)
    for row in rows:
        entry = wanted.get(row.get("path"))
        if entry is None or row.get("digest") != entry["digest"]:
            continue
        if row.get("level") == "load" and row.get("state") == "ok":
            entry |= {"level": "load", "loaded_by": LOADED_ON_BOX}
        elif row.get("level") == "load":
            entry |= {"state": "corrupt", "level": "load", "detail": str(row.get("detail"))}
        elif row.get("detail"):
            entry["detail"] = str(row["detail"])
    return ""
