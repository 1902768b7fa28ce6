"""The files of a checkpoint as they lie in their folder, which may be that of another user.

In a folder of another user, or one where everybody may write, no link is followed and no file of
somebody else is taken, unless everybody may read it: root would copy for a user what that user may
not read. In our own folder links are followed, by the rules of :mod:`..system.places`.

Of every file is noted who may read it besides its owner, also by the modes of the folders above. A
copy lies elsewhere, below other folders, so its own mode has to say that.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..checkpoints.formats import names, recognise
from ..system import places
from ..system.ownership import is_ours, name_of, others_may_write

OTHERS, GROUP = 0o004, 0o040


class Strange(OSError):
    """A part of the checkpoint is not taken; ``strerror`` says in a sentence why."""

    def __init__(self, why: str, name: str) -> None:
        super().__init__(1, why, name)


@dataclass(frozen=True, slots=True)
class FileToCopy:
    """One file to copy."""

    name: str
    """Relative to the checkpoint folder, or to the folder that holds a single file."""
    path: str
    bytes: int
    mtime_ns: int
    inode: int
    shared: int = field(default=0, compare=False)
    """Who may read it besides its owner, also by the folders above: 0o004 and 0o040 of its mode."""
    gid: int = field(default=-1, compare=False)
    """Its group."""


class Found(NamedTuple):
    """One regular file."""

    name: str
    """Relative to the folder."""
    info: os.stat_result
    shared: int
    """Of :data:`OTHERS` and :data:`GROUP` those who may read it."""


def folder_files(folder: str, deepest: int) -> list[Found]:
    """The files of a checkpoint folder, by name. Raises OSError; :class:`Strange` for what is refused."""
    with opened_folder(folder) as home:
        if home.foreign:
            found = dict(home.walk(deepest))
        else:
            parts = recognise.parts(folder, deepest)
            found = {p.name: p.stat for p in parts if stat.S_ISREG(p.stat.st_mode)}
        wanted = [name for name in sorted(found) if not _is_leftover(name)]
        return [Found(name, found[name], home.shared(name, found[name])) for name in wanted]


def named_files(folder: str, wanted: Sequence[str]) -> list[Found]:
    """These files of a folder, by name. Raises like :func:`folder_files`."""
    with opened_folder(folder) as home:
        found = []
        for name in sorted(wanted):
            info = os.stat(name, dir_fd=home.fd, follow_symlinks=not home.foreign)
            if home.foreign:
                home.check(name, info)
            if not stat.S_ISREG(info.st_mode):
                raise Strange(f"{name} is not a regular file", name)
            found.append(Found(name, info, home.shared(name, info)))
        return found


def opened(item: FileToCopy) -> int:
    """Open a file of the source for reading; returns the descriptor. Raises like the above."""
    with opened_folder(item.path.removesuffix(f"/{item.name}") or "/") as home:
        if not home.foreign:
            return places.open_file(item.path)
        try:
            fd = places.open_beneath(home.fd, item.name)
        except places.NotTheirs:
            raise home.link(item.name) from None
        try:
            home.check(item.name, os.fstat(fd))
        except OSError:
            os.close(fd)
            raise
        return fd


@contextlib.contextmanager
def readable(item: FileToCopy) -> Iterator[str]:
    """A path under which this process and its children can read the opened file, and no other."""
    fd = opened(item)
    try:
        yield f"/proc/{os.getpid()}/fd/{fd}"
    finally:
        os.close(fd)


# ------------------------------------------------------------------------ the folder


class Home:
    """The open folder."""

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.info = os.fstat(fd)
        self.path = path
        self.foreign = not is_ours(self.info.st_uid) or others_may_write(self.info)
        self._way: dict[str, int] = {}

    def walk(self, deepest: int) -> Iterator[tuple[str, os.stat_result]]:
        """Every regular file below, without following a link."""
        todo, left = [("", 0)], recognise.MOST_FILES
        while todo:
            prefix, depth = todo.pop()
            here = places.open_beneath(self.fd, prefix.rstrip("/") or ".", directory=True)
            try:
                for name in sorted(os.listdir(here)):
                    left -= 1
                    if left < 0:
                        raise Strange("it has too many files", prefix)
                    whole = prefix + name
                    with contextlib.suppress(FileNotFoundError):
                        info = os.stat(name, dir_fd=here, follow_symlinks=False)
                        if stat.S_ISDIR(info.st_mode) and depth < deepest:
                            todo.append((f"{whole}/", depth + 1))
                        elif not _is_leftover(whole):
                            self.check(whole, info)
                            if stat.S_ISREG(info.st_mode):
                                yield whole, info
            finally:
                os.close(here)

    def check(self, name: str, info: os.stat_result) -> None:
        """Raises Strange for a link, and for a file of somebody else that is not for everybody."""
        if stat.S_ISLNK(info.st_mode):
            raise self.link(name)
        if not stat.S_ISREG(info.st_mode) or info.st_mode & stat.S_IROTH:
            return
        mixed = is_ours(self.info.st_uid)  # a folder for everybody: it says nothing of its files
        if info.st_uid != self.info.st_uid and not (mixed and info.st_nlink == 1):
            whose, owner = name_of(info.st_uid), name_of(self.info.st_uid)
            raise Strange(
                f"{name} belongs to {whose}, and its folder to {owner}: it is not copied, because "
                f"it may be a second name of a file elsewhere (chown it to {owner})",
                name,
            )
        if mixed and info.st_nlink > 1:
            raise Strange(f"{name} is also a name of a file elsewhere: it is not copied", name)

    def link(self, name: str) -> Strange:
        """Why a link is not copied."""
        owner = name_of(self.info.st_uid)
        where = (
            f"a folder of {owner}" if not is_ours(self.info.st_uid) else "a folder for everybody"
        )
        return Strange(
            f"{name} is a link, and in {where} links are not followed: put the file itself there",
            name,
        )

    def shared(self, name: str, info: os.stat_result) -> int:
        """Who may read a file besides its owner, by its own mode and by the folders above it."""
        if not self._may_all_search(os.path.dirname(name)):
            return 0
        return info.st_mode & (OTHERS | GROUP)

    def _may_all_search(self, below: str) -> bool:
        """Whether everybody may search a folder inside this one, and all that it lies in."""
        known = self._way.get(below)
        if known is None:
            if below:
                mode = os.stat(below, dir_fd=self.fd).st_mode
                known = mode & stat.S_IXOTH and self._may_all_search(os.path.dirname(below))
            else:
                known = self.info.st_mode & stat.S_IXOTH and _way_is_open(self.fd)
            self._way[below] = known
        return bool(known)


def _way_is_open(fd: int) -> bool:
    """Whether everybody may search all folders above an open one."""
    path = os.readlink(f"/proc/self/fd/{fd}")
    while path != "/":
        path = os.path.dirname(path)
        try:
            if not os.stat(path).st_mode & stat.S_IXOTH:
                return False
        except OSError:
            return False
    return True


@contextlib.contextmanager
def opened_folder(path: str) -> Iterator[Home]:
    """A folder, open for as long as the block lasts. Raises OSError."""
    fd = places.open_folder(path)
    try:
        yield Home(fd, path)
    finally:
        os.close(fd)


def _is_leftover(name: str) -> bool:
    return any(names.is_leftover(piece) for piece in name.split("/"))
