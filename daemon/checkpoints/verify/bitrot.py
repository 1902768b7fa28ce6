"""Bit rot: did the bytes of a checkpoint change although no program wrote it?

It shows by comparing digests. A faulty disk, controller or copy leaves size and time of the file
as they were, and a format without checksums (safetensors) can still be read without an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ...system.clock import epoch, iso
from ..formats.bounded_file import BoundedFile, FileTooShort

_LONGEST_INDEX = 16 << 20
"""Bytes of an index that are read: room for 20,000 checkpoints."""
_GRAIN_S = 0.002
"""Seconds by which two times of a save may differ: the index keeps them to the millisecond."""
_ROTTEN = "although nobody wrote it"
_ABOVE = 3
"""Folders above a checkpoint in which an index is looked for."""


def why_corrupt(known: Mapping[str, Any], digest: str | None, bytes_: int, saved_at: float) -> str:
    """Why a checkpoint is corrupt, judged by its digest in the index; empty when it is not.

    ``known``: its entry in the index; ``digest``, ``bytes_`` and ``saved_at`` (epoch seconds):
    what was read now. A different size or time means that a program wrote it, which is no bit rot.
    Digests of different kinds cannot be compared.
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
        return said  # an earlier reading has found it
    since = _time(verified.get("at") if isinstance(verified, dict) else None)
    when = str(iso(then if since is None else since))[:19].replace("T", " ")
    return f"its bytes changed since {when} {_ROTTEN}"


def recorded(indexes: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The entries with a digest from these ``checkpoints_index.json`` files, by path.

    A file that is no index is ignored; of two entries the one verified later counts.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for index in indexes:
        for entry in _entries(index):
            path = entry["path"]
            if path not in found or _verified_at(entry) > _verified_at(found[path]):
                found[path] = entry
    return found


def indexes(runs: str, checkpoints: Iterable[str]) -> list[str]:
    """Paths of all index files: one of every run in the folder ``runs``, and near checkpoints."""
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
