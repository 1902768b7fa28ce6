"""The record of a launch: what was started, from which sources, where. ``resume`` and people read it.

Of the environment only names are kept, and of what was changed in the working copy at most
:data:`DIFF_BYTES`.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config.secrets import mask_lines, mask_words

SCHEMA = "middlewatch/launch/v1"
DIFF_BYTES = 1 << 20
SCRIPT_BYTES = 8 << 20
"""A larger file among the words of a command is data, not a script (our choice)."""
GIT_S = 10.0
"""Seconds for each question to git (our choice): on a slow network disk it is not worth more."""


def record(
    *,
    run: str,
    place: str,
    command: Sequence[str],
    cwd: Path,
    env_names: Sequence[str],
    files: Mapping[str, str],
    at: str,
    **more: Any,
) -> dict[str, Any]:
    """A plain dict, ready for JSON. ``more``: what the place and the engine add."""
    return {
        "schema": SCHEMA,
        "run": run,
        "place": place,
        "at": at,
        "command": mask_words(command),
        "cwd": str(cwd),
        "env_names": sorted(env_names),
        "git": git(cwd),
        "scripts": scripts(command, cwd),
        "files": {name: digest(text.encode()) for name, text in files.items()},
        **more,
    }


def digest(data: bytes) -> str:
    """``sha256:…`` of the bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def scripts(command: Sequence[str], cwd: Path) -> dict[str, str]:
    """Files that the command names, and their digests: what was run can be told from what lies there now."""
    found = {}
    for word in command:
        path = cwd / word
        try:
            if path.is_file() and path.stat().st_size <= SCRIPT_BYTES:
                found[str(path)] = digest(path.read_bytes())
        except (OSError, ValueError):
            continue
    return found


def git(cwd: Path) -> dict[str, Any]:
    """Revision, whether files were changed, and the changes; empty outside of a repository."""
    revision = _git(cwd, "rev-parse", "HEAD").strip()
    if not revision:
        return {}
    diff = _git(cwd, "diff", "HEAD", "--no-color", "--no-ext-diff")
    status = _git(cwd, "status", "--porcelain", "--untracked-files=normal")
    return {
        "revision": revision,
        "changed": bool(status.strip()),
        "diff": mask_lines(diff[:DIFF_BYTES]),
        "diff_cut": len(diff) > DIFF_BYTES,
        "untracked": [line[3:] for line in status.splitlines() if line.startswith("??")][:100],
    }


def _git(cwd: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(cwd), *words],
            capture_output=True,
            timeout=GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
