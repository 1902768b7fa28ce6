"""Did the bytes of a checkpoint change although nobody wrote it? Told by the digest kept of it.

A disk, a controller or a copy that lies leaves size and time of save as they were, and a format
without checksums (safetensors) reads as well as ever.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ...system.clock import epoch, iso
from ..formats.bounded_file import BoundedFile, FileTooShort

_LONGEST_INDEX = 16 << 20
"""Bytes of an index that are read: 20,000 checkpoints."""
_GRAIN_S = 0.002
"""The index keeps times to the millisecond."""
_ROTTEN = "although nobody wrote it"
_ABOVE = 3
"""Folders above a checkpoint in which an index is looked for."""


def why_corrupt(known: Mapping[str, Any], digest: str | None, bytes_: int, saved_at: float) -> str:
    """Why a checkpoint is corrupt by what the index knows of it; empty when it is not.

    ``known``: its entry in the index; ``digest``, ``bytes_`` and ``saved_at`` (epoch seconds):
    what was read just now. Another size or time means that somebody wrote: no rot. A digest of
    another kind says nothing.
    """
    before = known.get("digest")
    if not isinstance(before, str) or digest is None or before == digest:
        return ""
    if before.partition(":")[0] != digest.partition(":")[0] or known.get("bytes") != bytes_:
        return ""
    then = _time(known.get("saved_at"))
    if then is None or abs(then - saved_at) > _GRAIN_S:
        return ""
    verified = known.get("verified")
    if isinstance(verified, dict) and _ROTTEN in (said := str(verified.get("detail"))):
        return said  # it is known since then
    since = _time(verified.get("at") if isinstance(verified, dict) else None)
    when = str(iso(then if since is None else since))[:19].replace("T", " ")
    return f"its bytes changed since {when} {_ROTTEN}"


def recorded(indexes: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The entries with a digest of some ``checkpoints_index.json``, by path.

    A file that is no index gives nothing; of two entries the one verified later counts.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for index in indexes:
        for entry in _entries(index):
            path = entry["path"]
            if path not in found or _verified_at(entry) > _verified_at(found[path]):
                found[path] = entry
    return found


def indexes(runs: str, checkpoints: Iterable[str]) -> list[str]:
    """The index files there are: of every run in the folder ``runs``, and beside checkpoints."""
    try:
        folders = [f"{runs}/{name}" for name in sorted(os.listdir(runs))]
    except OSError:
        folders = []
    for path in checkpoints:
        above = path.rstrip("/")
        for _ in range(_ABOVE):
            above = os.path.dirname(above)
            folders.append(above or ".")
    paths = (f"{folder}/checkpoints_index.json" for folder in dict.fromkeys(folders))
    return [path for path in paths if os.path.isfile(path)]


def _entries(index: str) -> list[dict[str, Any]]:
    try:
        with BoundedFile(index) as peek:
            whole = json.loads(peek.read_up_to(0, min(peek.size, _LONGEST_INDEX)))
    except (OSError, FileTooShort, ValueError, RecursionError):
        return []
    entries = whole.get("checkpoints") if isinstance(whole, dict) else None
    return [
        entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
        and isinstance(entry.get("path"), str)
        and isinstance(entry.get("digest"), str)
    ]


def _verified_at(entry: Mapping[str, Any]) -> float:
    verified = entry.get("verified")
    return _time(verified.get("at") if isinstance(verified, dict) else None) or 0.0


def _time(text: object) -> float | None:
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        return epoch(text)
    except (ValueError, OverflowError):
        return None
