"""What is mounted, and on which mount a path is, found without a call that may hang.

The only reader of ``mountinfo`` and ``/etc/fstab``. Symbolic links are followed here, one by one,
and no call touches a network or FUSE file system: its server may be dead, and the call would block.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
from collections.abc import Iterable
from typing import NamedTuple

from . import procfs

TABLE = "/proc/self/mountinfo"
_LONGEST_TABLE = 4 << 20
"""Bytes read at most. A box with a thousand containers has some ten thousand mounts, each a line of
150 bytes."""
_LONGEST_FSTAB = 1 << 20
_MOST_LINKS = 40
"""Links followed for one path, as in the kernel."""

# fmt: off
_REMOTE = frozenset({
    "9p", "afs", "autofs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs",
    "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "panfs", "pvfs2", "smb3", "smbfs",
    "virtiofs", "wekafs",
})
# fmt: on


# fmt: off
_LOCAL = frozenset({
    "aufs", "bcachefs", "binfmt_misc", "bpf", "btrfs", "cgroup", "cgroup2", "configfs", "cpuset",
    "cramfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "erofs", "exfat", "ext2", "ext3", "ext4",
    "f2fs", "fusectl", "hfs", "hfsplus", "hugetlbfs", "iso9660", "jfs", "minix", "mqueue", "msdos",
    "nilfs2", "nsfs", "ntfs", "ntfs3", "overlay", "overlayfs", "proc", "pstore", "ramfs",
    "reiserfs", "resctrl", "rootfs", "securityfs", "selinuxfs", "squashfs", "sysfs", "tmpfs",
    "tracefs", "udf", "vfat", "xfs", "zfs",
})
# fmt: on
"""File systems of mainline Linux, ZFS and bcachefs that need no server and no other program. An
overlay counts as one of them, as its layers are folders of the host."""


def is_remote(fstype: str) -> bool:
    """True for a file system on which a call may block for ever (network or FUSE)."""
    return fstype in _REMOTE or fstype.startswith("fuse")


def is_local(fstype: str) -> bool:
    """True for a file system that is known to be served by this kernel alone, from memory or from a
    block device. One that nobody here knows is neither local nor remote: it is not relied on."""
    return fstype in _LOCAL


class Mount(NamedTuple):
    """One line of /proc/PID/mountinfo."""

    device: str
    """``major:minor`` of the file system; equal for all its bind mounts."""
    root: str
    """The directory inside the file system that is mounted."""
    point: str
    fstype: str
    source: str
    """A device, ``host:/path``, or a word such as ``none``."""
    options: frozenset[str]
    """Options of the file system itself, such as the controllers of a version 1 cgroup."""
    read_only: bool
    """This mount is read-only. If the whole file system is, ``options`` has ``ro``."""
    id: int = 0
    """Its number in this table; an open file names it in ``fdinfo``."""


def table(path: str = TABLE) -> list[Mount]:
    """All mounts, in the order of mounting. Raises OSError."""
    found = []
    for line in procfs.read_file(path, _LONGEST_TABLE).splitlines():
        before, separator, after = line.partition(b" - ")
        left, right = before.split(b" "), after.split(b" ")
        if separator and len(left) >= 6 and len(right) >= 2:
            found.append(
                Mount(
                    device=left[2].decode("ascii", "replace"),
                    root=_plain(left[3]),
                    point=_plain(left[4]),
                    fstype=right[0].decode("ascii", "replace"),
                    source=_plain(right[1]),
                    options=frozenset(right[2].decode("ascii", "replace").split(","))
                    if len(right) > 2
                    else frozenset(),
                    read_only=b"ro" in left[5].split(b","),
                    id=procfs.parse_number(left[0]),
                )
            )
    return found


def readable_table(path: str = TABLE) -> list[Mount]:
    """Like :func:`table`, but empty when it may not be read or there is no /proc."""
    try:
        return table(path)
    except OSError:
        return []


def table_of_first(root: str) -> list[Mount]:
    """The mounts of process 1; empty when they may not be read."""
    return readable_table(f"{root}/proc/1/mountinfo")


def wanted_by_fstab(path: str = "/etc/fstab") -> list[str]:
    """Mount points of ``fstab`` that are mounted at boot, without ``/``. Empty without the file."""
    try:
        lines = procfs.read_file(path, _LONGEST_FSTAB).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        fields = line.partition(b"#")[0].split()
        if len(fields) < 4 or not fields[1].startswith(b"/") or fields[1] == b"/":
            continue
        if not {b"noauto", b"x-systemd.automount"} & set(fields[3].split(b",")):
            found.append(_plain(fields[1]).rstrip("/"))
    return found


class TableWatch:
    """Notices changes of the mount table, which the kernel signals on the open file by POLLPRI."""

    def __init__(self, path: str = TABLE) -> None:
        self._fd = -1
        self._poll: select.poll | None = None
        with contextlib.suppress(OSError):  # then changed() is always False
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._poll = select.poll()
            self._poll.register(self._fd, select.POLLPRI | select.POLLERR)

    def changed(self) -> bool:
        """True when something was mounted or unmounted since the last call."""
        return self._poll is not None and bool(self._poll.poll(0))

    def close(self) -> None:
        """Close the file; safe to call twice."""
        fd, self._fd, self._poll = self._fd, -1, None
        if fd >= 0:
            os.close(fd)


class Mounts:
    """Finds the mount of a path. ``root`` is put before every path that is examined."""

    def __init__(self, mounts: Iterable[Mount], root: str = "") -> None:
        self._root = root
        # The last one mounted on a point hides those before it.
        self._by_point = {mount.point: mount for mount in mounts}

    def of(self, path: str) -> Mount | None:
        """The mount with the longest mount point above ``path``, by the text of the path only."""
        while path not in self._by_point and path != "/":
            path = path.rpartition("/")[0] or "/"
        return self._by_point.get(path)

    def of_device(self, device: str) -> Mount | None:
        """A mount of the file system ``major:minor``: of its root, if that is mounted."""
        found = [m for m in self._by_point.values() if m.device == device]
        return next((m for m in found if m.root == "/"), found[0] if found else None)

    def below(self, path: str) -> list[Mount]:
        """The mounts that lie below ``path``, a path without symbolic links."""
        inside = path.rstrip("/") + "/"
        return [mount for point, mount in self._by_point.items() if point.startswith(inside)]

    def resolve(self, path: str) -> tuple[Mount | None, str]:
        """(mount of ``path``, the path with symbolic links resolved as far as it exists)."""
        return self.walk(path)[:2]

    def walk(self, path: str) -> tuple[Mount | None, str, str]:
        """:meth:`resolve`, and the part of the path that does not exist: empty, or with a ``/`` in
        front. Nothing is touched on a file system that is not known to be local: the path is not
        resolved there.
        """
        here, todo, links = "", _parts(path), 0
        while todo:
            part = todo.pop()
            if part == "..":
                here = here.rpartition("/")[0]
                continue
            there = f"{here}/{part}"
            mount = self.of(there)
            if mount is not None and not is_local(mount.fstype):
                full = "/".join((there, *reversed(todo)))
                under = self.of(full) or mount
                if not is_local(under.fstype):
                    return under, self._root + full, ""
                # A local file system is mounted further down the path: go on from there.
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


def real_path(path: str) -> str:
    """Like ``os.path.realpath``, but a path on a file system that is not known to be local is
    resolved up to there only. Never blocks."""
    _, found, rest = Mounts(readable_table()).walk(path)
    return (found.rstrip("/") + rest) or "/"


def _parts(path: str) -> list[str]:
    """Components of a path, in reverse order."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _plain(field: bytes) -> str:
    r"""Undo the escapes of mountinfo and fstab: ``\040`` is a space."""
    head, *escaped = field.split(b"\\")
    out = bytearray(head)
    for piece in escaped:
        code = piece[:3]
        if len(code) == 3 and all(b"0"[0] <= digit <= b"7"[0] for digit in code):
            out.append(int(code, 8) & 0xFF)
            out += piece[3:]
        else:
            out += b"\\" + piece
    return os.fsdecode(bytes(out))


def devices_by_id(path: str = TABLE) -> dict[str, str]:
    """``major:minor`` of the file system of every mount, by the mount's id: the ``mnt_id`` that
    /proc/PID/fdinfo gives for an open file. Empty when the table may not be read."""
    found = {}
    data = procfs.read_or_none(path, _LONGEST_TABLE) or b""
    for line in data.decode("ascii", "replace").splitlines():
        fields = line.split(" ", 3)
        if len(fields) == 4:
            found[fields[0]] = fields[2]
    return found
