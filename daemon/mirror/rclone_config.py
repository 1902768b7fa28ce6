"""Whether a remote of rclone can keep a copy from others: by its kind and its options."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping

from .receipt import MirrorError

_ASK_S = 30.0
_HOPS = 8
_BY_MODE = frozenset(("sftp", "ftp", "smb", "hdfs"))
"""Kinds that make files on a host without saying who may read them: its umask decides."""
_WITHIN = frozenset(("alias", "cache", "chunker", "combine", "compress", "hasher", "union"))
"""Kinds that keep files in other remotes."""
_SEALED = frozenset(("crypt",))
_OPEN = ("public", "authenticated", "all-users", "allusers")


def check_keeps_private(remote: str) -> None:
    """Raises MirrorError when others could read what is copied there, or when that is not known."""
    known = _remotes()
    todo, seen = [remote], set[str]()
    while todo and len(seen) < _HOPS:
        name = todo.pop()
        if name in seen or not name:
            continue
        seen.add(name)
        options = known.get(name)
        if options is None:
            raise MirrorError(_told(remote, f"the settings of {name} cannot be read"))
        kind = options.get("type", "")
        if kind in _SEALED:
            continue
        if kind in _BY_MODE:
            raise MirrorError(_told(remote, f"files on {name} ({kind}) have the modes of the host"))
        for key, value in options.items():
            if key.endswith("acl") and any(word in value.lower() for word in _OPEN):
                raise MirrorError(_told(remote, f"{name} has {key} = {value}"))
        if kind in _WITHIN:
            inner = " ".join(options.get(key, "") for key in ("remote", "upstreams"))
            todo += [
                word.partition(":")[0].rpartition("=")[2] for word in inner.split() if ":" in word
            ]


def _told(remote: str, why: str) -> str:
    return (
        f"others could read the copies at {remote}: {why}, and the checkpoint is another user's "
        "and not for everybody; copy to a folder or to user@host:path instead"
    )


def _remotes() -> Mapping[str, Mapping[str, str]]:
    """Name -> settings."""
    try:
        asked = ["rclone", "config", "dump"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=_ASK_S, check=False)
        found = json.loads(answer.stdout or "{}")
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}
    return {
        name: {key: str(value) for key, value in options.items()}
        for name, options in found.items()
        if isinstance(options, dict)
    }
