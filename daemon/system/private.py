"""Folders and files that only their owner can open, whatever the umask is."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from .errors import Refused
from .ownership import Untrusted, check_way, name_of, others_may_write

FOLDER_MODE, FILE_MODE = 0o700, 0o600
MOST_ENTRIES = 20_000
"""Entries looked at in a folder that was open to others. More than any daemon of ours makes."""
_OTHERS = 0o077
FOR_ALL = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders that stay open to everybody, also where they are file systems of their own."""


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a regular file, made if it is not there, with mode 0600. Raises OSError.

    A link of that name is not followed.
    """
    flags |= os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path, flags, FILE_MODE)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(f"{os.fspath(path)} is not a regular file")
        if info.st_uid == os.geteuid() and stat.S_IMODE(info.st_mode) != FILE_MODE:
            os.fchmod(fd, FILE_MODE)
    except OSError:
        os.close(fd)
        raise
    return fd


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can open; what was in it is gone. Raises OSError."""
    fd = open_private(path, os.O_WRONLY | os.O_TRUNC)
    with open(fd, "wb") as file:
        file.write(data)


def make_private(folder: Path) -> None:
    """Make a folder with mode 0700, and those above it that are missing; one that is there, and
    ours, gets that mode. Raises OSError, and Refused for one of another user."""
    missing = []
    for one in (folder, *folder.parents):
        if os.path.lexists(one):
            break
        missing.append(one)
    before = os.umask(0o777 - FOLDER_MODE)  # one that its owner cannot enter holds no other
    try:
        for one in reversed(missing):
            with contextlib.suppress(FileExistsError):
                os.mkdir(one, FOLDER_MODE)
    finally:
        os.umask(before)
    # What was there is given the mode only where it is asked for, not the folders above it.
    for one in {folder, *missing}:
        fd = os.open(one, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            info = os.fstat(fd)
            if info.st_uid != os.geteuid():
                raise Refused(f"the folder {one} belongs to {name_of(info.st_uid)}")
            if stat.S_IMODE(info.st_mode) != FOLDER_MODE:
                os.fchmod(fd, FOLDER_MODE)
        finally:
            os.close(fd)


def take_folder(folder: Path, marks: Collection[str], others: Collection[str]) -> list[str]:
    """Make ``folder`` ours alone; sentences about what had to be changed for that.

    A folder with one of the files ``marks``, or with nothing but them and ``others``, is one that
    we have used before. Any other one keeps its mode, because it serves something else. Raises
    OSError, and Refused when others could have put something there that we would trust.
    """
    hint = "name another folder with --state-dir or $MIDDLEWATCH_STATE_DIR"
    if not os.path.lexists(folder):
        make_private(folder)
    try:
        info = check_way(str(folder), os.geteuid())
    except Untrusted as error:
        raise Refused(
            f"the state directory {folder} cannot be used: {error}",
            f"take the right to write away from others (chmod go-w, or chmod +t), or {hint}",
        ) from None
    if not stat.S_ISDIR(info.st_mode):
        raise NotADirectoryError(20, "it is not a directory", str(folder))
    if info.st_uid != os.geteuid():
        whose = name_of(info.st_uid)
        raise Refused(f"the state directory {folder} belongs to {whose}", hint)
    if not info.st_mode & _OTHERS:
        return []
    with os.scandir(folder) as entries:
        names = {entry.name for entry in entries} - {"lost+found"}
    # A new file system is a folder for everybody, too, until somebody says whose it is.
    fresh = os.path.ismount(folder) and str(folder) not in FOR_ALL and names <= {*marks, *others}
    if info.st_mode & stat.S_ISVTX and not fresh:
        raise Refused(f"{folder} is a folder for everybody, it cannot hold the state", hint)
    if not names & set(marks) and not names <= set(others):
        raise Refused(
            f"{folder} holds other files and others may open it: it is no state directory",
            f"name an empty or a new folder, such as {folder / 'middlewatch'}",
        )
    os.chmod(folder, FOLDER_MODE)
    if os.stat(folder).st_mode & _OTHERS:
        raise Refused(f"{folder} stays open to others: its file system keeps no modes", hint)
    if not others_may_write(info):
        return [f"others could look into {folder}: only its owner can now (mode 0700)"]
    foreign = next(_foreign(str(folder), 2), "")
    if foreign:
        raise Refused(
            f"others could write to {folder}, and {foreign}",
            "look at what is in it, remove what is not yours, and start again",
        )
    return [f"others could write to {folder}: only its owner can now (mode 0700)"]


def close_files(folder: str, depth: int) -> None:
    """Take the rights of others away from our files and folders below a folder that is private."""
    for entry, info in _below(folder, depth):
        if info.st_uid != os.geteuid() or not stat.S_IMODE(info.st_mode) & _OTHERS:
            continue
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(info.st_mode):
                os.chmod(entry.path, FOLDER_MODE)
            elif stat.S_ISREG(info.st_mode) and info.st_nlink == 1:
                os.chmod(entry.path, FILE_MODE)


def _foreign(folder: str, depth: int) -> Iterator[str]:
    """Sentences about what others may have put there: their own files, links, hard links."""
    for entry, info in _below(folder, depth):
        if info.st_uid != os.geteuid():
            yield f"{entry.path} belongs to {name_of(info.st_uid)}"
        elif stat.S_ISLNK(info.st_mode):
            yield f"{entry.path} is a link"
        elif stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
            yield f"{entry.path} has a second name elsewhere"


def _below(folder: str, depth: int) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    left, level = MOST_ENTRIES, [folder]
    for _ in range(depth + 1):
        deeper: list[str] = []
        for one in level:
            with contextlib.suppress(OSError), os.scandir(one) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    try:
                        info = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield entry, info
                    if stat.S_ISDIR(info.st_mode):
                        deeper.append(entry.path)
        level = deeper
