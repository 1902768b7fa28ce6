"""Where copies go: a folder of this box, a host by ssh, or a remote of rclone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..system import mounts
from .receipt import MirrorError

Kind = Literal["folder", "ssh", "rclone"]
_REMOTE = re.compile(r"(?P<host>[\w.@-][\w.@ +-]*):(?P<path>.*)")
_ASK_S = 30.0
_UNKNOWN = mounts.Mount("", "/", "/", "", "", frozenset(), read_only=False)
"""The mount of a path where the table of mounts cannot be read."""


@dataclass(frozen=True, slots=True)
class MirrorTarget:
    """A destination in its parts."""

    kind: Kind
    host: str
    """``user@host``, or the name of the remote; empty for a folder."""
    path: str

    def __str__(self) -> str:
        """As it was given."""
        return f"{self.host}:{self.path}" if self.host else self.path


def parse(text: str) -> MirrorTarget:
    """``/mnt/safe``, ``user@host:path`` or ``remote:path``. Raises :class:`MirrorError`.

    ``name:path`` without a user is a remote of rclone if rclone has one of that name, else a host.
    """
    if not text or "\0" in text or "\n" in text:
        raise MirrorError("no destination is given")
    found = _REMOTE.fullmatch(text)
    if found is None or text.startswith(("/", ".", "~")):
        return MirrorTarget(
            "folder", "", os.path.normpath(Path(os.path.expanduser(text)).absolute())
        )
    host, path = found["host"], found["path"]
    if host.startswith("-"):
        raise MirrorError(f"{host!r} is no host")
    if "@" not in host and f"{host}:" in _remotes():
        return MirrorTarget("rclone", host, path.rstrip("/"))
    if shutil.which("rsync") is None:
        raise MirrorError(f"{text}: rsync is not installed here, and {host} is no remote of rclone")
    if not path or path.startswith("-"):
        raise MirrorError(f"{text} names no folder of {host}")
    return MirrorTarget("ssh", host, path.removeprefix("~/").rstrip("/") or "/")


def _remotes() -> list[str]:
    if shutil.which("rclone") is None:
        return []
    try:
        asked = ["rclone", "listremotes"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=_ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return answer.stdout.split("\n")


def mount_of(path: str) -> mounts.Mount:
    """The mount of ``path``, or of the nearest folder above it that exists."""
    return mounts.Mounts(mounts.readable_table()).of(os.path.realpath(path)) or _UNKNOWN


def check_mounted(path: str, before: Mapping[str, str] | None) -> None:
    """Raises :class:`MirrorError` when a file system that should be mounted at ``path`` is not.

    It should be if it was at an earlier copy to the same place (``before``: ``{"point", "kind"}``),
    or by ``/etc/fstab``. The folder of a missing mount still exists, on the system disk: what is
    copied to it is lost with the box.
    """
    now = mount_of(path)
    point = str(before.get("point", "")) if before else ""
    if len(point) > len(now.point) and f"{os.path.realpath(path)}/".startswith(point + "/"):
        kind = before.get("kind") if before else ""
        raise MirrorError(
            f"{point} ({kind}) is not mounted any more: {path} would be on {now.point}"
        )
    for wanted in mounts.wanted_by_fstab():
        if f"{os.path.realpath(path)}/".startswith(wanted + "/") and len(wanted) > len(now.point):
            raise MirrorError(f"{wanted} should be mounted (/etc/fstab), but is not")


def same_disk(one: str, other: str) -> bool:
    """True if both paths are on one file system: a copy there is lost with the same disk."""
    return mount_of(one).point == mount_of(other).point
