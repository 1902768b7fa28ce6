"""Open what somebody else may have laid out, without being led out of its place.

Root may read everything. A user who puts a link in the place of a log or checkpoint, or a second name
of a file that is not theirs, would be shown by us what they may not read. So a path is followed name
by name, and nothing is opened by its whole path:

- A link counts as a wish of its owner. What it leads to is read only if that owner may read it, folder
  by folder. Links of ours and of root are followed like any other.
- A file with several names in a folder where others may put names is read only if everybody may read
  it, or if it belongs to the owner of the folder.
- Only regular files are opened: a pipe would wait for ever, a device may do anything.

Below a folder that is open already, :func:`open_beneath` follows no link at all.

To write or delete, :func:`open_to_write` and :func:`check_links` ask more of a link: that what it leads
to belongs to its owner.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import re
import stat
from functools import lru_cache
from pathlib import Path

from . import linkless, procfs
from .ownership import MOST_LINKS, is_ours, name_of, others_may_write

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_PATH: int = getattr(os, "O_PATH", 0)
"""0: not Linux, so it is a person's own machine and no box. Nothing is opened name by name there."""
_NAMED = _PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_OF_PROCESS = re.compile(
    r"/proc/(?P<pid>\d+|self)/(?:(?P<fd>fd/\d+)|(?P<home>root|cwd)(?P<rest>/.*)?)"
)
_R, _X = 4, 1


class NotTheirs(PermissionError):
    """It is not opened, because somebody who may not read it has led us there.

    ``strerror`` says in a sentence who.
    """

    def __init__(self, why: str, path: str) -> None:
        super().__init__(errno.EACCES, why, path)


def open_file(path: str) -> int:
    """Open a regular file for reading; returns the descriptor.

    Raises :class:`NotTheirs` as described above, IsADirectoryError, OSError with EINVAL for a pipe
    or a device, and other OSErrors as ``open`` does.
    """
    if not _PATH:
        return _open_plain(path)
    of_process = _OF_PROCESS.fullmatch(path)
    if of_process is not None and of_process["fd"]:
        return _open_held(path)
    fd = _plainly_named(path)
    if fd >= 0:
        try:
            return _reopened(fd)
        finally:
            os.close(fd)
    fd, info, parent = _walk(path)
    try:
        _check_kind(info, path)
        _check_names(info, parent, path)
        return _reopened(fd)
    finally:
        os.close(fd)


def open_folder(path: str) -> int:
    """Open a folder for listing; returns the descriptor. Raises like :func:`open_file`."""
    if not _PATH:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fd, info, _ = _walk(path)
    try:
        if not stat.S_ISDIR(info.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
    finally:
        os.close(fd)


def open_beneath(folder: int, name: str, *, directory: bool = False) -> int:
    """Open a regular file, or a folder, by its name relative to an open folder.

    Raises :class:`NotTheirs` when any part of the name is a link, OSError with EINVAL for a pipe
    or a device, and other OSErrors as ``open`` does.
    """
    parts = name.split("/")
    if name.startswith("/") or ".." in parts:
        raise NotTheirs(f"{name} leads out of its folder", name)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC if directory else _PATH | os.O_CLOEXEC
    fd = _by_steps(folder, parts, flags, name)
    if directory:
        return fd
    try:
        _check_kind(os.fstat(fd), name)
        return _reopened(fd)
    finally:
        os.close(fd)


def open_to_write(path: str) -> int:
    """Open a folder in order to write into it; it and those above it are made if they are missing.

    Returns the descriptor. Raises :class:`NotTheirs` for a link of somebody else that leads to what
    is not theirs, and OSErrors as ``mkdir`` and ``open`` do.
    """
    return _way_to_write(path, make=True)


def check_links(path: str) -> None:
    """Raises :class:`NotTheirs` when ``path`` leads through a link of somebody else to what is not
    theirs: to change or delete it there would be done at their wish. OSError if it is not there."""
    fd = linkless.name(path, linkless.FOLDER)
    os.close(fd if fd >= 0 else _way_to_write(path, make=False))


def _way_to_write(path: str, *, make: bool) -> int:
    whole = path if path.startswith("/") else f"{os.getcwd()}/{path}"
    here, left = _top(), _parts(whole)
    wishes: list[tuple[int, int, str]] = []
    """Names that are left after what a link leads to, the owner of the link, its name."""
    links = 0
    try:
        while left:
            while wishes and len(left) <= wishes[-1][0]:
                _check_belongs(wishes.pop(), here, path)
            part = left.pop()
            try:
                fd = os.open(part, _NAMED, dir_fd=here)
            except FileNotFoundError:
                if not make:
                    raise
                for wish in wishes:
                    _check_belongs(wish, here, path)
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
                fd = os.open(part, _NAMED, dir_fd=here)
            info = os.fstat(fd)
            if not stat.S_ISLNK(info.st_mode):
                os.close(here)
                here = fd
                continue
            links += 1
            target = _target(fd, links, path)
            if not is_ours(info.st_uid):
                wishes.append((len(left), info.st_uid, part))
            if target.startswith("/"):
                os.close(here)
                here = _top()
            left += _parts(target)
        for wish in wishes:
            _check_belongs(wish, here, path)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)


def _target(fd: int, links: int, path: str) -> str:
    """Where the link leads that ``fd`` names; closes it. Raises OSError after too many ``links``."""
    try:
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return os.readlink("", dir_fd=fd)
    finally:
        os.close(fd)


def _top() -> int:
    return os.open("/", _PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _check_belongs(wish: tuple[int, int, str], fd: int, path: str) -> None:
    """Raises NotTheirs unless what a link leads to belongs to the owner of the link."""
    _, uid, link = wish
    if os.fstat(fd).st_uid != uid:
        who = name_of(uid)
        raise NotTheirs(f"the link {link} of {who} leads to what is not of {who}", path)


# ------------------------------------------------------------------------ below an open folder


def _by_steps(folder: int, parts: list[str], flags: int, name: str) -> int:
    here = os.dup(folder)
    try:
        for number, part in enumerate(parts, 1):
            fd = os.open(part, _NAMED, dir_fd=here)
            os.close(here)
            here = fd
            if stat.S_ISLNK(os.fstat(fd).st_mode):
                raise NotTheirs(f"{name} is a link, or lies behind one", name)
            if number < len(parts) and not stat.S_ISDIR(os.fstat(fd).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        if flags & os.O_DIRECTORY:
            return os.open(".", flags, dir_fd=here)
        return os.dup(here)
    finally:
        os.close(here)


# ------------------------------------------------------------------------ a whole path


def has_no_link(path: str) -> bool:
    """Whether no part of a whole path, nor what it names, is a link. False also where it is not there, is written
    with ``..`` or the like, or this kernel cannot tell at once."""
    if path != os.path.normpath(path) or not path.startswith("/"):
        return False
    fd = linkless.name(path, linkless.ANY)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def _plainly_named(path: str) -> int:
    """A descriptor that names a regular file, if no link is on the way to it and nobody can have given it a
    second name to show it to us; else -1."""
    fd = linkless.name(path, linkless.ANY)
    if fd < 0:
        return -1
    info = os.fstat(fd)
    if stat.S_ISREG(info.st_mode) and (info.st_nlink < 2 or info.st_mode & stat.S_IROTH):
        return fd
    os.close(fd)
    return -1


def _walk(path: str) -> tuple[int, os.stat_result, os.stat_result]:
    """(descriptor that names it, its stat, that of its folder)."""
    root, left = _begin(path)
    top = os.fstat(root)
    here, info, parent = os.dup(root), top, top
    wishes: dict[int, str] = {}
    """Owner of a link -> the link."""
    links = 0
    try:
        while left:
            part = left.pop()
            if part == ".." and os.path.samestat(info, top):
                continue  # above the root of a container there is nothing
            _check_may(wishes, info, _X, path)
            fd = os.open(part, _NAMED if part != ".." else _PATH | os.O_CLOEXEC, dir_fd=here)
            seen = os.fstat(fd)
            if not stat.S_ISLNK(seen.st_mode):
                os.close(here)
                here, info, parent = fd, seen, info
                continue
            links += 1
            target = _target(fd, links, path)
            if not is_ours(seen.st_uid):
                wishes.setdefault(seen.st_uid, part)
            if target.startswith("/"):
                os.close(here)
                here, info = os.dup(root), top
            left += _parts(target)
        _check_may(wishes, info, _R, path, here)
        return here, info, parent
    except BaseException:
        os.close(here)
        raise
    finally:
        os.close(root)


def _begin(path: str) -> tuple[int, list[str]]:
    """The folder where a path begins, and the names in it, the first one last."""
    of_process = _OF_PROCESS.fullmatch(path)
    if of_process is not None and of_process["home"]:
        # The kernel leads there: these links are no text that somebody has written.
        begin = f"/proc/{of_process['pid']}/{of_process['home']}"
        return os.open(begin, _PATH | os.O_DIRECTORY | os.O_CLOEXEC), _parts(
            of_process["rest"] or ""
        )
    begin = "/" if path.startswith("/") else "."
    if begin == ".":
        path = f"{os.getcwd()}/{path}"
    return _top(), _parts(path)


def _parts(path: str) -> list[str]:
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _open_plain(path: str) -> int:
    fd = os.open(path, _READ)
    try:
        _check_kind(os.fstat(fd), path)
    except OSError:
        os.close(fd)
        raise
    return fd


def _open_held(path: str) -> int:
    """Open ``/proc/PID/fd/N``: a file that the process itself has open for reading or writing.

    A descriptor that only names a file (``O_PATH``) can be had of files that may not be read.
    """
    head, _, fd = path.rpartition("/fd/")
    text = procfs.read_or_none(f"{head}/fdinfo/{fd}") or b""
    flags = next((line.split()[1] for line in text.splitlines() if line[:6] == b"flags:"), b"0")
    if int(flags, 8) & _PATH and head != "/proc/self":
        raise NotTheirs("its process has the file only named, and not opened", path)
    _check_kind(os.stat(path), path)
    return os.open(path, _READ)


def _check_kind(info: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)


def _check_names(info: os.stat_result, parent: os.stat_result, path: str) -> None:
    """Raises NotTheirs for a second name that somebody else may have given to a file."""
    if info.st_nlink < 2 or info.st_mode & stat.S_IROTH:
        return
    if is_ours(parent.st_uid) and not others_may_write(parent):
        return
    if is_ours(parent.st_uid) or parent.st_uid != info.st_uid:
        owner = name_of(info.st_uid)
        raise NotTheirs(f"it is also a name of a file of {owner} elsewhere (a hard link)", path)


def _check_may(
    wishes: dict[int, str], info: os.stat_result, what: int, path: str, fd: int = -1
) -> None:
    """Raises NotTheirs when the owner of a link may not read, or search, what it leads to."""
    # With an access control list, the rights of the group in the mode are those of the list.
    groups = not wishes or fd < 0 or not _has_list(fd)
    for uid, link in wishes.items():
        if not may(uid, info, what, groups=groups):
            who = name_of(uid)
            raise NotTheirs(f"the link {link} of {who} leads to what {who} may not read", path)


def unreadable_for(uid: int, path: str) -> str:
    """What a user may not read of a file, or of a folder and the files in it; empty if nothing.

    Raises OSError when there is no such path.
    """
    real = os.path.realpath(path)
    for above in (*Path(path).absolute().parents, *Path(real).parents):
        if not may(uid, above.stat(), _X):
            return str(above)
    if not os.path.isdir(real):
        return "" if may(uid, os.stat(real), _R) else real
    if not may(uid, os.stat(real), _R) or not may(uid, os.stat(real), _X):
        return real
    with os.scandir(real) as entries:
        return next((one.path for one in entries if not may(uid, one.stat(), _R)), "")


def _has_list(fd: int) -> bool:
    try:
        return "system.posix_acl_access" in os.listxattr(f"/proc/self/fd/{fd}")
    except OSError:
        return False


def may(uid: int, info: os.stat_result, what: int, *, groups: bool = True) -> bool:
    """Whether the mode of a file lets a user read (4) it, or of a folder search (1) it.

    Rights that an access control list adds are not seen.
    """
    if uid == info.st_uid:
        return bool(info.st_mode >> 6 & what)
    if info.st_gid in _groups(uid):
        return groups and bool(info.st_mode >> 3 & what)
    return bool(info.st_mode & what)


@lru_cache(maxsize=64)
def _groups(uid: int) -> frozenset[int]:
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        return frozenset()
    return frozenset(os.getgrouplist(account.pw_name, account.pw_gid))


def _reopened(fd: int) -> int:
    """The file that a descriptor names, open for reading."""
    with contextlib.suppress(FileNotFoundError):
        return os.open(f"/proc/self/fd/{fd}", _READ)
    raise OSError(errno.ENOSYS, "/proc is not mounted")
