"""``PULL_VERIFIED.json``: what was brought home from a box and proved, by run.

The entry of a run is taken out before a file of it is touched, and written when the proof is complete:
there is never a receipt for a copy that was not read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..system.errors import UsageError
from ..system.files import write_whole

SCHEMA = "middlewatch/pull/v1"
RECEIPT = "PULL_VERIFIED.json"
MEMORY = ".middlewatch-pull.json"
"""In the folder of a run: which checkpoints were proved, also when the box has deleted them since."""
_LONGEST = 1 << 30


def read_receipt(dest: str) -> dict[str, Any] | None:
    """The receipt in a folder at home; ``None`` where there is none that can be used."""
    found = _read(Path(dest, RECEIPT))
    if found is None or found.get("schema") != SCHEMA:
        return None
    if not isinstance(found.get("runs"), dict) or not isinstance(found.get("box"), dict):
        return None
    return found


def take_back(dest: str, run: str, box: Mapping[str, Any]) -> dict[str, Any]:
    """Take the entry of a run out of the receipt; returns it, or an empty one.

    Raises UsageError when the folder holds the results of another box.
    """
    path = Path(dest, RECEIPT)
    found = read_receipt(dest)
    if found is None:
        path.unlink(missing_ok=True)  # it proves nothing
        return {}
    if found["box"].get("id") != box["id"]:
        raise UsageError(
            f"{dest} holds what came from another box, {found['box'].get('host')}",
            "name another folder",
        )
    entry = found["runs"].pop(run, {})
    if found["runs"]:
        _write(path, found)
    else:
        path.unlink(missing_ok=True)
    return dict(entry) if isinstance(entry, dict) else {}


def sign(dest: str, run: str, box: Mapping[str, Any], host: str, entry: Mapping[str, Any]) -> str:
    """Add the entry of a run that was proved; returns the path of the receipt. Raises OSError."""
    path = Path(dest, RECEIPT)
    found = read_receipt(dest) or {"schema": SCHEMA, "box": dict(box), "host": host, "runs": {}}
    found["runs"][run] = dict(entry)
    _write(path, found)
    return str(path)


def remembered(folder: str) -> dict[str, dict[str, Any]]:
    """The checkpoints that were proved in the folder of a run: name -> entry of the receipt."""
    found = _read(Path(folder, MEMORY)) or {}
    known = found.get("checkpoints")
    return known if isinstance(known, dict) else {}


def remember(folder: str, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep them. Raises OSError."""
    _write(Path(folder, MEMORY), {"schema": SCHEMA, "checkpoints": dict(known)})


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if os.lstat(path).st_size > _LONGEST:
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, value: Mapping[str, Any]) -> None:
    write_whole(str(path), json.dumps(value, indent=1) + "\n", private=True)
