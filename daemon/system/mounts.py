"""Which mount a path lies on, found without touching anything that may hang.

Links are followed by hand, and the walk stops at the first directory of a network or FUSE file
system: a dead server stalls nobody who only wants to know where something lies.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from . import procfs

_MOST_LINKS = 40
"""Links followed for one path, as in the kernel."""

# fmt: off
_REMOTE = frozenset({
    "9p", "afs", "autofs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs",
    "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "panfs", "pvfs2", "smb3", "smbfs",
    "virtiofs", "wekafs",
})
# fmt: on


def is_remote(fstype: str) -> bool:
    """Whether a call on such a file system may block for as long as it likes."""
    return fstype in _REMOTE or fstype.startswith("fuse")


class Mounts:
    """Which mount a path lies on."""

    def __init__(self, mounts: Iterable[procfs.Mount], root: str) -> None:
        self._root = root
        # The last one mounted on a point hides those before it.
        self._by_point = {mount.point: mount for mount in mounts}

    def of(self, path: str) -> procfs.Mount | None:
        """The mount with the longest point above ``path``, by its name alone."""
        while path not in self._by_point and path != "/":
            path = path.rpartition("/")[0] or "/"
        return self._by_point.get(path)

    def resolve(self, path: str) -> tuple[procfs.Mount | None, str]:
        """The mount of ``path``, and the path without links as far as it exists."""
        return self.walk(path)[:2]

    def walk(self, path: str) -> tuple[procfs.Mount | None, str, str]:
        """The same, and what does not exist of the path: empty, or begins with a slash.

        Nothing on a remote file system is touched: what lies there is left as it is named.
        """
        here, todo, links = "", _parts(path), 0
        while todo:
            part = todo.pop()
            if part == "..":
                here = here.rpartition("/")[0]
                continue
            there = f"{here}/{part}"
            mount = self.of(there)
            if mount is not None and is_remote(mount.fstype):
                full = "/".join((there, *reversed(todo)))
                under = self.of(full) or mount
                if is_remote(under.fstype):
                    return under, self._root + full, ""
                # Something local is mounted further down: go on from there.
                here, todo = under.point, _parts(full[len(under.point) :])
                continue
            try:
                target = os.readlink(self._root + there)
            except OSError as error:
                if error.errno != errno.EINVAL:  # EINVAL: it exists and is no link
                    todo.append(part)
                    break
                here = there
                continue
            links += 1
            if links > _MOST_LINKS:
                todo.append(part)
                break
            here = "" if target.startswith("/") else here
            todo += _parts(target)
        rest = "".join(f"/{part}" for part in reversed(todo))
        return self.of(here or "/"), self._root + (here or "/"), rest


def of_first(root: str) -> list[procfs.Mount]:
    """What the first process of the box has mounted; nothing where that is a secret."""
    try:
        return procfs.mounts(f"{root}/proc/1/mountinfo")
    except OSError:
        return []


def _parts(path: str) -> list[str]:
    """Components of a path, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
