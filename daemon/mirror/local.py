"""Copy to a folder of this box: continued block by block, read back from the disk, not a cache."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Mapping
from typing import Any

import xxhash

from ..checkpoints.verify.reading import FileReader
from ..system.files import drop_cached, sync_folder, write_whole
from .receipt import RECEIPT, SCHEMA, CopyJob, MirrorError, read_receipt
from .remote import CopyProgress, Standing, Work, chunks, standing_of
from .tree import GROUP, OTHERS, FileToCopy

FLUSH = 32 << 20
"""Bytes written between two flushes: so much at most is not yet on disk and lost by a crash."""
_SLACK = 1 << 20
"""Bytes that folders and the receipt may need beside the files."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_LONGEST_RECEIPT = 16 << 20


class FolderDestination:
    """A destination that is a folder."""

    proof = "read back from the disk"

    def __init__(self, root: str) -> None:
        self._root = root

    def receipt_of(self, job: CopyJob) -> Work[Mapping[str, Any] | None]:
        """The receipt of a copy, if its files are still there with their sizes."""
        yield CopyProgress()
        self._check_other(job)
        receipt = self._receipt(job)
        if receipt is None:
            return None
        home = self._home(job)
        try:
            whole = all(
                os.stat(f"{home}/{f['name']}").st_size == f["bytes"] for f in receipt["files"]
            )
        except (OSError, KeyError, TypeError):
            return None
        return receipt if whole else None

    def touched(self, receipt: Mapping[str, Any], job: CopyJob) -> bool:
        """True if a file has another time than in the receipt: somebody wrote to it since."""
        home = self._home(job)
        try:
            return any(
                os.stat(f"{home}/{f['name']}").st_mtime_ns != f["mtime_ns"]
                for f in receipt["files"]
            )
        except OSError:
            return True

    def standing(self, job: CopyJob) -> Work[Standing]:
        """What is there under the name of the copy."""
        yield CopyProgress()
        home, sizes = self._home(job), {}
        for item in job.items:
            with contextlib.suppress(OSError):
                sizes[item.name] = os.stat(f"{home}/{item.name}").st_size
        there = os.path.lexists(self._target(job))
        return standing_of(job, self._receipt(job), sizes, there=there)

    def send(self, job: CopyJob) -> Work[dict[str, str]]:
        """Copy what is not there yet.

        When the destination is full, the temporary folder is deleted, so that others can write.
        """
        part = self._part(job)
        digests: dict[str, str] = {}
        try:
            self._check_room(job, part)
            make_folders(part, private=job.private)
            for item in job.items:
                digests[item.name] = yield from _copy(item, f"{part}/{item.name}", job.private)
            self._delete_others(job, part)
        except OSError as error:
            if error.errno in _FULL:
                shutil.rmtree(part, ignore_errors=True)
            raise MirrorError(reason(error, self._root)) from None
        return digests

    def differing(
        self, job: CopyJob, digests: Mapping[str, str], *, named: bool
    ) -> Work[list[str]]:
        """Read the copy back from the disk: cached pages are flushed and dropped first."""
        home = self._home(job) if named else self._part(job)
        wrong: list[str] = []
        try:
            for item in job.items:
                found = yield from _digest(f"{home}/{item.name}")
                wrong += [item.name] if found != digests[item.name] else []
        except OSError as error:
            raise MirrorError(f"cannot be read back: {reason(error, self._root)}") from None
        return wrong

    def discard(self, job: CopyJob) -> Work[None]:
        """Delete the temporary folder."""
        yield CopyProgress()
        shutil.rmtree(self._part(job), ignore_errors=True)

    def place(self, job: CopyJob) -> Work[str]:
        """Move the copy to its name.

        An older copy of a single file is replaced in one step. A folder cannot be: its older copy
        is renamed and kept. What is not a copy of this checkpoint is never touched.
        """
        yield CopyProgress()
        target, part, remark = self._target(job), self._part(job), ""
        try:
            receipt = self._receipt(job)
            if os.path.lexists(target):
                if receipt is None or receipt.get("source") != job.path:
                    raise MirrorError(
                        f"{target} is there already and is no copy of this checkpoint"
                    )
                # Until the new receipt is written no receipt may call the copy complete.
                self._write(job, {"schema": SCHEMA, "source": job.path, "replacing": True})
            if not job.folder:
                home = self._home(job)
                for item in sorted(job.items, key=lambda i: i.name == job.base):
                    make_folders(os.path.dirname(f"{home}/{item.name}"), private=job.private)
                    os.replace(f"{part}/{item.name}", f"{home}/{item.name}")
                shutil.rmtree(part, ignore_errors=True)
            else:
                if os.path.lexists(target):
                    older = free_name(target)
                    os.rename(target, older)
                    remark = f"the copy of its older contents is kept as {os.path.basename(older)}"
                os.rename(part, target)
            sync_folder(os.path.dirname(target))
        except OSError as error:
            raise MirrorError(reason(error, self._root)) from None
        return remark

    def sign(self, job: CopyJob, receipt: Mapping[str, Any]) -> Work[None]:
        """Write the receipt. This is the last step of a copy."""
        yield CopyProgress()
        try:
            self._write(job, receipt)
        except OSError as error:
            raise MirrorError(reason(error, self._root)) from None

    def _write(self, job: CopyJob, receipt: Mapping[str, Any]) -> None:
        text = json.dumps(receipt, indent=1)
        write_whole(self._target(job) + RECEIPT, text, private=job.private)

    def _home(self, job: CopyJob) -> str:
        """The folder that the names of the files are relative to."""
        target = self._target(job)
        return target if job.folder else os.path.dirname(target)

    def _target(self, job: CopyJob) -> str:
        return f"{self._root}/{job.place}"

    def _part(self, job: CopyJob) -> str:
        """The temporary folder of a copy; by its name every program knows that it is one."""
        target = self._target(job)
        return f"{os.path.dirname(target)}/.{job.base}.part"

    def _receipt(self, job: CopyJob) -> dict[str, Any] | None:
        try:
            with open(self._target(job) + RECEIPT, "rb") as file:
                return read_receipt(file.read(_LONGEST_RECEIPT))
        except OSError:
            return None

    def _check_other(self, job: CopyJob) -> None:
        """Raises :class:`MirrorError` where the files there are those of the checkpoint itself.

        By a hard link, a symbolic link, a bind mount, or simply the folder above. They would
        compare equal, and be lost together with the checkpoint.
        """
        home = self._home(job)
        for item in job.items:
            with contextlib.suppress(OSError):
                if os.path.samefile(item.path, f"{home}/{item.name}"):
                    raise MirrorError(
                        f"{home}/{item.name} is the checkpoint itself, and no copy of it"
                    )

    def _check_room(self, job: CopyJob, part: str) -> None:
        """Raises MirrorError before anything is written if it will not fit."""
        there = {i.name: _blocks(f"{part}/{i.name}") for i in job.items}
        needed = sum(max(0, i.bytes - (there[i.name] or 0)) for i in job.items) + _SLACK
        files = sum(1 for size in there.values() if size is None) + 2
        home = part
        while not os.path.isdir(home):
            home = os.path.dirname(home)
        room = os.statvfs(home)
        free = room.f_bavail * room.f_frsize
        if free < needed:
            raise MirrorError(
                f"{self._root} is full: {needed - free} bytes more are needed than are free"
            )
        if room.f_files and room.f_favail < files:
            raise MirrorError(
                f"{self._root} has {room.f_favail} inodes left, and {files} are needed"
            )

    def _delete_others(self, job: CopyJob, part: str) -> None:
        """Delete files of an interrupted copy that the checkpoint does not have any more."""
        wanted = {item.name for item in job.items}
        for here, _, files in os.walk(part):
            for name in files:
                path = f"{here}/{name}"
                if os.path.relpath(path, part) not in wanted:
                    os.unlink(path)


def make_folders(path: str, *, private: bool) -> None:
    """Make a folder and those above it that are missing; open to others unless ``private``."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path) or "."
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(one, 0o700 if private else 0o777)


def _copy(item: FileToCopy, target: str, private: bool) -> Work[str]:
    """Write the blocks that differ from the source; returns the digest of the source."""
    make_folders(os.path.dirname(target), private=private)
    digest = xxhash.xxh3_128()
    fd = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(fd, copied_mode(item, os.fstat(fd)))
        there = os.fstat(fd).st_size
        flushed = dirty = 0
        for offset, data in chunks(item):
            digest.update(data)
            size = sent = len(data)
            if offset < there and os.pread(fd, size, offset) == data:
                sent = 0
            else:
                _write(fd, data, offset)
            dirty += sent
            if dirty >= FLUSH:
                flushed, dirty = _flush(fd, flushed, offset + size), 0
            yield CopyProgress(size, sent)
        if there > item.bytes:
            os.ftruncate(fd, item.bytes)
        os.fsync(fd)
        os.utime(fd, ns=(item.mtime_ns, item.mtime_ns))
        drop_cached(fd)
    finally:
        os.close(fd)
    return digest.hexdigest()


def copied_mode(item: FileToCopy, copy: os.stat_result) -> int:
    """The mode of a copy: those may read it who may read the source, less what the umask takes."""
    shared = item.shared & OTHERS
    if item.gid == copy.st_gid or shared:  # what all may read, the group of the copy may as well
        shared |= item.shared & GROUP
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o600 | shared & ~umask


def _write(fd: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(fd, data, offset)
        data, offset = data[written:], offset + written


def _flush(fd: int, begin: int, end: int) -> int:
    os.fdatasync(fd)
    drop_cached(fd, begin, end - begin)
    return end


def _digest(path: str) -> Work[str]:
    """xxh3_128 of a file as it is on the disk, 32 hex digits."""
    digest = xxhash.xxh3_128()
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        drop_cached(file.fileno())
    with FileReader(path) as reader:
        for _, data in reader.chunks():
            digest.update(data)
            yield CopyProgress(read=len(data))
    return digest.hexdigest()


def _blocks(path: str) -> int | None:
    """Bytes that a file takes on its disk; ``None`` when it is not there."""
    try:
        return os.stat(path).st_blocks * 512
    except OSError:
        return None


def free_name(target: str) -> str:
    """A name that is free, for what is replaced and kept."""
    number = 1
    while os.path.lexists(f"{target}.replaced-{number}"):
        number += 1
    return f"{target}.replaced-{number}"


def reason(error: OSError, root: str) -> str:
    """What an error of the destination means, in a sentence."""
    words = {
        errno.ENOSPC: "is full (bytes or inodes)",
        errno.EDQUOT: "is over its quota",
        errno.EROFS: "is mounted read-only",
        errno.EACCES: "may not be written by this user",
        errno.EPERM: "may not be written by this user",
        errno.EFBIG: "takes no files of this size",
        errno.EIO: "gives input/output errors",
        errno.ESTALE: "is a mount that went away",
        errno.ENOTCONN: "is a mount that went away",
        errno.ENODEV: "is a mount that went away",
    }
    return f"{root} {words.get(error.errno or 0, f'cannot be used: {error.strerror}')}"
