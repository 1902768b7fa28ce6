"""Who could have put a file where it lies: what may be trusted, and what somebody else could replace.

A path is ours when every folder and link on the way to it belongs to us or to root, and nobody else
may write there. A sticky folder such as ``/tmp`` is fine: an entry in it is replaced by its owner
only.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from functools import cache
from pathlib import Path

from . import procfs

MOST_LINKS = 40
"""Symbolic links on the way to one file: as many as the kernel follows (``MAXSYMLINKS``)."""
LARGEST = 4 << 20
"""Bytes of a file that is read whole. Our choice: configurations have a few KiB."""

_PASSES = stat.S_IXGRP | stat.S_IXOTH
"""Without these bits nobody but the owner of a folder gets to what is below it."""


class Untrusted(Exception):
    """``str()`` says in a sentence who could replace the path."""


def name_of(uid: int) -> str:
    """The name of a user; the number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def others_may_write(info: os.stat_result) -> bool:
    """True when somebody besides the owner and root may write to this file or into this folder.

    The group does not count if only the owner is in it: on some systems every user has a group of
    the same name, and new files are writable for it.
    """
    mode = info.st_mode
    return bool(mode & stat.S_IWOTH) or (
        bool(mode & stat.S_IWGRP) and not _alone_in_group(info.st_uid, info.st_gid)
    )


def others_may_read(path: str) -> bool:
    """True when somebody besides the owner and root may read this file, counting the folders above it.

    False for what is no regular file. Raises OSError.
    """
    real = os.path.realpath(path)
    info = os.stat(real)
    if not stat.S_ISREG(info.st_mode):
        return False
    by_group = info.st_mode & stat.S_IRGRP and not _alone_in_group(info.st_uid, info.st_gid)
    if not (info.st_mode & stat.S_IROTH or by_group):
        return False
    return all(os.stat(above).st_mode & _PASSES for above in Path(real).parents)


def is_ours(uid: int) -> bool:
    """True for us and for root: who may do all that we may."""
    return uid in (0, os.geteuid(), _unmapped_uid())


def check_way(path: str, uid: int) -> os.stat_result:
    """What ``path`` leads to, if only user ``uid`` and root could have put it there.

    The mode of the file itself is not checked. Raises Untrusted, and OSError when there is no such
    file.
    """
    here, info = "/", os.lstat("/")
    whole = path if path.startswith("/") else f"{Path.cwd()}/{path}"
    left = _parts(whole)
    links = 0
    while left:
        if others_may_write(info) and not info.st_mode & stat.S_ISVTX:
            raise Untrusted(f"others may write to the folder {here}")
        part = left.pop()
        if part == "..":  # in the target of a link; ``here`` has no link in it
            here = os.path.dirname(here)
            info = os.lstat(here)
            continue
        below = f"{here.rstrip('/')}/{part}"
        info = os.lstat(below)
        if not _is_trusted(info, uid):
            raise Untrusted(f"{below} belongs to {name_of(info.st_uid)}")
        if not stat.S_ISLNK(info.st_mode):
            here = below
            continue
        links += 1
        if links > MOST_LINKS:
            raise Untrusted(f"{path} leads through more than {MOST_LINKS} links")
        target = os.readlink(below)
        if target.startswith("/"):
            here = "/"
        info = os.lstat(here)
        left += _parts(target)
    return info


def read_trusted(path: str) -> bytes:
    """The content of a file that only we and root can have written.

    Raises Untrusted, and OSError when it cannot be read.
    """
    info = check_way(path, os.geteuid())
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(f"{path} is a directory")
    if stat.S_ISREG(info.st_mode) and others_may_write(info):
        raise Untrusted(f"others may write to {path}")
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(f"it is longer than {LARGEST >> 20} MiB")
    return data


def _parts(path: str) -> list[str]:
    """The names in a path, the first one last."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _is_trusted(info: os.stat_result, uid: int) -> bool:
    return info.st_uid in (0, uid, _unmapped_uid())


def _alone_in_group(uid: int, gid: int) -> bool:
    with contextlib.suppress(KeyError):
        group = grp.getgrgid(gid)
        if gid == 0:
            return set(group.gr_mem) <= {"root"}
        if uid == 0 and not group.gr_mem:  # Debian's `staff`, which may write below /usr/local
            return all(account.pw_gid != gid for account in pwd.getpwall())
        user = pwd.getpwuid(uid)
        own = user.pw_gid == gid and group.gr_name == user.pw_name
        return own and set(group.gr_mem) <= {user.pw_name}
    return False


@cache
def _unmapped_uid() -> int | None:
    """The id under which a container without root (Apptainer, Podman) shows root's own files.

    ``None`` where all users have their own ids: there that id is an ordinary user's (``nobody``).
    """
    if (procfs.read_or_none("/proc/self/uid_map") or b"0 0 4294967295").split()[2:] == [
        b"4294967295"
    ]:
        return None
    words = procfs.read_or_none("/proc/sys/kernel/overflowuid") or b"65534"
    return procfs.parse_number(words.strip()) or None
