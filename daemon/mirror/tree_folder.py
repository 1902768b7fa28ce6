"""Copies single files of a tree into a folder of this box.

A file that has only grown is copied by its growth. Any other is written under a temporary name and
renamed when it is whole. Nothing is deleted at the destination. What a new version would replace stays
as ``NAME.replaced-1`` if it was not written by the mirror, or if it was a log that has begun anew:
then the older lines are nowhere else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator

from ..system.files import drop_cached, sync_folder, write_whole
from . import tree
from .copy import check_place, remember_place
from .local import copied_mode, free_name, make_folders, reason
from .receipt import RECEIPT, MirrorError
from .remote import CopyProgress, Work
from .targets import MirrorTarget
from .tree import FileToCopy, Home
from .tree_goal import (
    HEAD,
    TICK_NS,
    Gone,
    NotTaken,
    check_receipt,
    ends_of,
    leave_out,
    read_source,
    receipt_of_tree,
    source_file,
)
from .tree_ledger import Copied, Ledger

CHUNK = 1 << 20
_DROP = 8 << 20
"""Copies of this size and more are not left in the page cache."""
_ZEROS = bytes(CHUNK)
_LONGEST_RECEIPT = 1 << 16
_FULL = (errno.ENOSPC, errno.EDQUOT)


class FolderGoal:
    """A folder ``root`` in which the files of one tree have their names."""

    def __init__(
        self, place: MirrorTarget, root: str, ledger: Ledger, number: int, memory: str
    ) -> None:
        """``number``: of the tree in the ledger; ``memory``: as in :func:`.copy.check_place`."""
        self._place = place
        self._root = root
        self._ledger = ledger
        self._number = number
        self._memory = memory
        self.flush = True
        """Flush every file; without it :meth:`settle` flushes all that was written."""
        self.left_out: dict[str, str] = {}
        """Files that are not copied, and why."""

    def begin(self, home: Home, source: str) -> Work[None]:
        """Make the folder. Raises MirrorError where it holds another tree, or is part of this one."""
        yield CopyProgress()
        check_place(self._place, self._memory)
        with self._writing():
            real, tree_path = os.path.realpath(self._root), os.path.realpath(source)
            if f"{real}/".startswith(f"{tree_path}/") or f"{tree_path}/".startswith(f"{real}/"):
                raise MirrorError(f"{self._root} and {source} lie in each other")
            path = self._root + RECEIPT
            check_receipt(_text(path), source, self._root)
            make_folders(self._root, private=not home.info.st_mode & stat.S_IXOTH)
            if not os.path.lexists(path):
                write_whole(path, receipt_of_tree(source))
            remember_place(self._place, self._memory)

    def copy(self, home: Home, names: list[str]) -> Work[list[str]]:
        """Copy files as they are now; returns those that changed meanwhile. Raises MirrorError."""
        again = []
        for name in names:
            self.left_out.pop(name, None)
            try:
                if (yield from self._one(home, name)):
                    again.append(name)
            except Gone:
                continue  # its copy stays
            except NotTaken as why:
                leave_out(self.left_out, name, why)
        return again

    def _one(self, home: Home, name: str) -> Work[bool]:
        fd = source_file(home, name)
        try:
            info, now_ns = os.fstat(fd), time.time_ns()
            with self._writing():
                known = self._ledger.get(self._number, name)
                if known is None:
                    known = self._moved(home, name, fd, info)
                row = yield from self._copied(home, name, fd, info, known)
            after = os.fstat(fd)
        finally:
            os.close(fd)
        # A write in the same tick of the clock of the file system does not change the time.
        fresh = 0 <= now_ns - info.st_mtime_ns < TICK_NS
        self._ledger.put(self._number, name, row._replace(mtime_ns=0) if fresh else row)
        about = info.st_size, info.st_mtime_ns
        return fresh or about != (after.st_size, after.st_mtime_ns)

    def sizes(self, folder: str) -> dict[str, int] | None:
        """The sizes of the files that are there in a folder; ``None`` where that is not asked."""
        found = {}
        with contextlib.suppress(OSError), os.scandir(f"{self._root}/{folder}") as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(info.st_mode):
                    found[entry.name] = info.st_size
        return found

    def prove(self, home: Home, name: str) -> Work[None]:
        """Compare a copy that was made by growth with its file, and make it again if it differs."""
        known = self._ledger.get(self._number, name)
        if known is None:
            return
        self._ledger.put(self._number, name, known._replace(grown=1))
        try:
            fd = source_file(home, name)
        except (Gone, NotTaken):
            return
        try:
            info = os.fstat(fd)
            if not known.is_of(info):
                return
            with self._writing():
                path = f"{self._root}/{name}"
                there = _lstat(path)
                if there is None or there.st_size != known.copied:
                    same = False
                else:
                    same = yield from _same(path, fd, known.copied)
            if not same:
                self._ledger.put(self._number, name, known._replace(mtime_ns=0, ends=b"", grown=0))
                yield from self.copy(home, [name])
        finally:
            os.close(fd)

    def settle(self) -> None:
        """Flush everything that was written to the file system of the destination."""
        with self._writing():
            fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _syncfs(fd)
            finally:
                os.close(fd)

    def _copied(
        self, home: Home, name: str, fd: int, info: os.stat_result, known: Copied | None
    ) -> Work[Copied]:
        path = f"{self._root}/{name}"
        there = _lstat(path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            raise NotTaken(f"{path} is there, and is no file")
        size = there.st_size if there is not None else -1
        if known is not None and known.is_of(info) and size == info.st_size:
            return known
        shared = home.shared(name, info)
        about = (info.st_size, info.st_mtime_ns, info.st_ino, shared, info.st_gid)
        item = FileToCopy(name, "", *about)
        grown = known.grown if known else 0
        begin = -1
        if there is not None and self._has_grown(path, fd, info, known, there):
            begin, grown = there.st_size, 2 if info.st_size > there.st_size else grown
        elif there is not None and 0 < there.st_size <= info.st_size:
            same = yield from _same(path, fd, there.st_size)
            if same:
                begin, grown = there.st_size, 1 if grown else 0
        if begin >= 0:
            ends = yield from self._append(path, item, fd, begin)
        else:
            make_folders(os.path.dirname(path), private=not shared & tree.OTHERS)
            part = f"{os.path.dirname(path)}/.{name.rpartition('/')[2][:200]}.part"
            ends = yield from self._whole(part, item, fd)
            kept = self._keep(path, info, known, there)
            os.replace(part, path)
            if self.flush:
                sync_folder(os.path.dirname(path))
            grown = 0 if kept or not grown else grown
        return Copied(info.st_ino, info.st_size, info.st_mtime_ns, info.st_size, ends, grown)

    def _has_grown(
        self,
        path: str,
        fd: int,
        info: os.stat_result,
        known: Copied | None,
        there: os.stat_result,
    ) -> bool:
        """True if the copy is ours, untouched, and what was copied is the beginning of the file."""
        return (
            known is not None
            and 0 < known.copied == there.st_size < info.st_size
            and known.ends == ends_of(fd, known.copied)
        )

    def _append(self, path: str, item: FileToCopy, fd: int, begin: int) -> Work[bytes]:
        copy = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return (yield from self._fill(copy, item, fd, begin))
        finally:
            os.close(copy)

    def _whole(self, part: str, item: FileToCopy, fd: int) -> Work[bytes]:
        """Write the file under its temporary name; what is there of it already is continued."""
        begin = 0
        there = _lstat(part)
        if there is not None:
            ours = stat.S_ISREG(there.st_mode) and 0 < there.st_size <= item.bytes
            same = ours and (yield from _same(part, fd, there.st_size))
            begin = there.st_size if same else 0
        copy = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if not begin:
                os.ftruncate(copy, 0)
            return (yield from self._fill(copy, item, fd, begin))
        except OSError as error:
            if error.errno in _FULL:  # so that others can write
                os.unlink(part)
            raise
        finally:
            os.close(copy)

    def _fill(self, copy: int, item: FileToCopy, fd: int, begin: int) -> Work[bytes]:
        os.fchmod(copy, copied_mode(item, os.fstat(copy)))
        at = begin
        while at < item.bytes:
            data = read_source(fd, min(CHUNK, item.bytes - at), at)
            if not data:
                raise Gone  # it was cut meanwhile: what is there now is another file
            if data != _ZEROS[: len(data)]:
                _write(copy, data, at)
            at += len(data)
            yield CopyProgress(len(data), len(data))
        os.ftruncate(copy, item.bytes)
        if self.flush:
            os.fdatasync(copy)
        if item.bytes - begin >= _DROP:
            drop_cached(copy)
        ends = ends_of(copy, item.bytes)
        os.utime(copy, ns=(item.mtime_ns, item.mtime_ns))
        return ends

    def _keep(
        self,
        path: str,
        info: os.stat_result,
        known: Copied | None,
        there: os.stat_result | None,
    ) -> bool:
        """Rename the older copy if nothing else has its contents."""
        if there is None or (there.st_size == 0 and known is not None):
            return False
        ours = known is not None and known.copied == there.st_size
        cut = ours and there.st_size >= HEAD and info.st_size < there.st_size // 2
        if ours and not cut and not (known is not None and known.grown):
            return False
        os.rename(path, free_name(path))
        return True

    def _moved(self, home: Home, name: str, fd: int, info: os.stat_result) -> Copied | None:
        """The row of a file that had another name: its copy is renamed, too."""
        for other, row in self._ledger.of_inode(self._number, info.st_ino):
            same = row.is_of(info) or (
                0 < row.copied <= info.st_size and row.ends == ends_of(fd, row.copied)
            )
            if other == name or not same or _is_there(home, other, info.st_ino):
                continue
            path, copy = f"{self._root}/{name}", _lstat(f"{self._root}/{other}")
            if copy is None or not stat.S_ISREG(copy.st_mode) or copy.st_size != row.copied:
                continue
            if _lstat(path) is not None:  # not ours: there is no row
                continue
            private = not home.shared(name, info) & tree.OTHERS
            make_folders(os.path.dirname(path), private=private)
            os.rename(f"{self._root}/{other}", path)
            self._ledger.delete(self._number, other)
            self._ledger.put(self._number, name, row)
            return row
        return None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MirrorError(reason(error, str(self._place))) from None


def _text(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LONGEST_RECEIPT)
    except FileNotFoundError:
        return b""


def _same(path: str, fd: int, size: int) -> Work[bool]:
    """Whether the first ``size`` bytes of both files are equal."""
    copy = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        for at in range(0, size, CHUNK):
            count = min(CHUNK, size - at)
            if os.pread(copy, count, at) != read_source(fd, count, at):
                return False
            yield CopyProgress(read=count)
    finally:
        os.close(copy)
    return True


def _is_there(home: Home, name: str, inode: int) -> bool:
    try:
        return os.stat(name, dir_fd=home.fd, follow_symlinks=False).st_ino == inode
    except OSError:
        return False


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _write(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def _syncfs(fd: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syncfs(fd):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
