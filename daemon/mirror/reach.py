"""Whether a destination can be used, asked once before it is written into the configuration."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import Literal

from .by_rsync import ssh_command
from .receipt import MirrorError
from .targets import MirrorTarget

ASK_S = 60.0
"""Seconds for the other side: ssh itself gives up a connection after 20."""
Found = Literal["there", "missing"]


def reach(place: MirrorTarget) -> Found:
    """Whether the folder is there. Raises :class:`MirrorError` when it cannot be used or reached."""
    if place.kind == "folder":
        if not os.path.exists(place.path):
            return "missing"
        if not os.path.isdir(place.path):
            raise MirrorError(f"{place.path} is not a folder")
        if not os.access(place.path, os.W_OK | os.X_OK):
            raise MirrorError(f"{place.path} may not be written to by this user")
        return "there"
    if place.kind == "rclone":
        # 3: there is no such folder; a copy makes it. Buckets have no folders at all.
        _ask(["rclone", "lsf", "--max-depth", "1", str(place)], fine=(0, 3))
        return "there"
    path = shlex.quote(place.path)
    script = f"test -d {path} || exit 3; test -w {path}"
    status = _ask([*ssh_command(), place.host, script], fine=(0, 1, 3))
    if status == 1:
        raise MirrorError(f"{place} may not be written to by that user")
    return "missing" if status == 3 else "there"


def make(place: MirrorTarget) -> None:
    """Make the folder, and those above it. Raises :class:`MirrorError`."""
    if place.kind == "folder":
        try:
            os.makedirs(place.path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise MirrorError(f"{place.path} cannot be made: {error.strerror or error}") from None
        return
    _ask([*ssh_command(), place.host, f"mkdir -p -- {shlex.quote(place.path)}"], fine=(0,))


def _ask(argv: list[str], fine: tuple[int, ...]) -> int:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MirrorError(f"{argv[0]} gave no answer: {error}") from None
    if done.returncode not in fine:
        words = " ".join(done.stderr.split())[-300:]
        raise MirrorError(f"{argv[0]}: {words or f'exit status {done.returncode}'}")
    return done.returncode
