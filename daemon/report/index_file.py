"""Write a file whole: a reader sees the old text or the new one, also after ``kill -9``."""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
from collections.abc import Mapping
from typing import Any

_MODE = 0o644
_SWEPT: set[str] = set()
"""Paths whose folder was cleared of what an earlier process left: once is enough."""


def write_whole(path: str, text: str) -> None:
    """Replace a file: temporary file in the same folder, fsync, rename, fsync of the folder.

    Raises OSError (no space, no folder, no permission); the old file is then as it was and no
    temporary is left. A killed writer may leave one, under a name that begins with a dot and
    ends with ``.tmp``: the first write of the next process sweeps it away.
    """
    folder, name = os.path.split(path)
    folder = folder or "."
    temporary = f"{folder}/.{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
    try:
        try:
            _write_all(fd, text.encode("utf-8", "surrogateescape"))
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)
    if path not in _SWEPT:
        _SWEPT.add(path)
        _sweep(folder, name)


def write_index(path: str, index: Mapping[str, Any]) -> None:
    """Write ``checkpoints_index.json``: strict JSON, whole. Raises OSError."""
    text = json.dumps(strict(index), indent=1, allow_nan=False)
    write_whole(path, text + "\n")


def strict(value: Any) -> Any:
    """The same value with NaN and infinities as ``"nan"``, ``"inf"`` and ``"-inf"``."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(key): strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [strict(each) for each in value]
    return value


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable; some network file systems refuse, which is no failure."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sweep(folder: str, name: str) -> None:
    """Remove temporaries of this file whose writer is gone."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith(f".{name}.") and entry.name.endswith(".tmp")):
                continue
            pid = entry.name[len(name) + 2 :].partition("-")[0]
            if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
