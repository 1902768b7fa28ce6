"""Whose a cell is: a file beside the folder of the cell, for the case that several boxes see that folder.

The folder itself stays empty until the cell writes to it: many trainers refuse to save where something is.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Mapping
from typing import Any

from ..system import jsonlines

OWNERS = ".owners"


def own(folder: str, mine: Mapping[str, str], take_over: bool) -> Mapping[str, Any] | None:
    """Make the folder of a cell and have it; ``None`` if it is ours now, else what its owner wrote.

    ``mine``: ``queue`` (the unique id of the queue here), ``host``, ``state_dir``. The file appears whole:
    a link to one that was written before, which is atomic on NFS as well. Raises OSError.
    """
    os.makedirs(folder, exist_ok=True)
    cells, name = os.path.split(folder)
    os.makedirs(f"{cells}/{OWNERS}", exist_ok=True)
    path = f"{cells}/{OWNERS}/{name}.json"
    made = f"{path}.{secrets.token_hex(6)}"
    with open(made, "xb") as file:
        file.write(jsonlines.encode(dict(mine)))
        file.flush()
        os.fsync(file.fileno())
    try:
        if take_over:
            os.replace(made, path)
            return None
        try:
            _only_one(made, path)
        except FileExistsError:
            owner = _read(path)
            return None if owner.get("queue") == mine["queue"] else owner
        return None
    finally:
        if os.path.exists(made):
            os.unlink(made)


def _only_one(made: str, path: str) -> None:
    """Give the file its name, unless another has it. Raises FileExistsError and OSError."""
    try:
        os.link(made, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        with open(made, "rb") as words, open(path, "xb") as file:  # no links there (exFAT, FUSE)
            file.write(words.read())


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return jsonlines.decode(file.read(1 << 16))
    except (OSError, ValueError, json.JSONDecodeError):
        return {}
