"""Where a path of another process lies for us, when it has other mounts than we: a container.

``/proc/PID/root/…`` leads there too, but only as long as the process lives. What is on a mount that
we have as well (a bind mount, a volume) keeps its own path, and what a container wrote to its own
file system lies in the upper layer of its overlay until the container is removed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from . import procfs
from .mounts import Mount, Mounts, readable_table

_OVERLAYS = frozenset({"overlay", "fuse-overlayfs"})


def outside(pid: int, path: str, proc: str = procfs.PROC) -> str:
    """A path under which we can open ``path`` of process ``pid``, also after its end if possible.

    ``path`` need not exist yet. It is returned as it is if the process has the same mounts as we,
    and as ``/proc/PID/root/…`` if no lasting path is found.
    """
    if not path.startswith("/") or procfs.same_mounts(pid, proc):
        return path
    via = f"{proc}/{pid}/root"
    theirs = readable_table(f"{proc}/{pid}/mountinfo")
    ours = readable_table(f"{proc}/self/mountinfo")
    if not theirs or not ours:
        return path if procfs.shares_root(pid, proc) is not False else via + path
    mount, found, rest = Mounts(theirs, via).walk(path)
    if mount is None:
        return via + path
    inside = found.removeprefix(via) or "/"
    for candidate, layer in _candidates(mount, inside, ours):
        if _same(found, candidate, layer=layer):
            return candidate.rstrip("/") + rest if rest else candidate
    return via + inside.rstrip("/") + rest


def _candidates(mount: Mount, inside: str, ours: list[Mount]) -> Iterator[tuple[str, bool]]:
    """Paths of ours that may be ``inside``, which lies on ``mount``; the most lasting first.

    With each, whether it lies in a layer of an overlay, and not in the overlay itself.
    """
    below = inside[len(mount.point.rstrip("/")) :].lstrip("/")
    if mount.fstype in _OVERLAYS:
        for option in mount.options:
            if option.startswith("upperdir=/"):
                upper = option.partition("=")[2].rstrip("/")
                yield "/".join((upper, *_parts(mount.root), *_parts(below))), True
    in_files = "/" + "/".join((*_parts(mount.root), *_parts(below)))
    visible = Mounts(ours)
    for one in reversed(ours):
        base = one.root.rstrip("/")
        if one.device == mount.device and f"{in_files}/".startswith(f"{base}/"):
            path = one.point.rstrip("/") + in_files[len(base) :] or "/"
            if visible.of(path) is one:
                yield path, False


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _same(theirs: str, ours: str, *, layer: bool) -> bool:
    """Whether two paths lead to the same file or folder.

    A layer of an overlay has its own device and inode numbers; kind and times are the same.
    """
    with contextlib.suppress(OSError):
        a, b = os.stat(theirs), os.stat(ours)
        if layer:
            return (a.st_mode, a.st_mtime_ns) == (b.st_mode, b.st_mtime_ns)
        return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
    return False
