"""Files written whole, folders synced, page cache given back, one digest of several files."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Mapping

from . import procfs

_MODE = 0o644
_SWEPT: set[str] = set()
"""Paths whose folder was cleared of what an earlier process left: once is enough."""
_NOT_OFFERED = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.ENOSYS)
"""What fsync(2) says of a folder on a file system that cannot sync one: some network disks."""


def write_whole(path: str, text: str, *, durable_name: bool = True) -> None:
    """Replace a file: temporary file in the same folder, fsync, rename, fsync of the folder.

    A reader sees the old text or the new one, also after ``kill -9``. Without ``durable_name``
    the folder is not synced: a crash of the box may bring the old text back, never a half one.

    Raises OSError (no space, no folder, no permission); the old file is then as it was and no
    temporary is left, unless it is the disk that fails to sync the folder. A killed writer may
    leave one, under a name that begins with a dot and ends with ``.tmp``: the first write of the
    next process sweeps it away.
    """
    folder, name = os.path.split(path)
    folder = folder or "."
    temporary = f"{folder}/.{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
    try:
        try:
            _write_all(fd, text.encode("utf-8", "surrogateescape"))
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if durable_name:
        sync_folder(folder)
    if path not in _SWEPT:
        _SWEPT.add(path)
        _sweep(folder, name)


def sync_folder(folder: str) -> None:
    """Make what was renamed in a folder last.

    Where a folder cannot be opened for reading or the file system offers no such thing, nothing
    more can be done and nothing is raised. An error of the disk itself is raised (OSError): then
    the name may be lost with the box, and who promised that it lasts must not go on as if it did.
    """
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
    finally:
        os.close(fd)


def drop_cached(fd: int, offset: int = 0, count: int = 0) -> None:
    """Give pages of a file back to the kernel; ``count`` 0: up to its end.

    Pages that are not on the disk yet stay: sync them first. So does a page of which only a
    part is named.
    """
    os.posix_fadvise(fd, offset, count, os.POSIX_FADV_DONTNEED)


def combined_digest(digests: Mapping[str, str]) -> str:
    """The digest of several files, 32 hex digits: that of the lines ``<32 hex>  <name>``.

    ``digests`` are the digests (32 hex digits) of the files by their names relative to the
    checkpoint; lines are sorted by name and end with a newline, in UTF-8. What
    ``xxhsum -H2 FILES | sort -k2 | xxhsum -H2`` gives.
    """
    import xxhash  # here: who only writes files does without

    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    return str(xxhash.xxh3_128_hexdigest(lines.encode("utf-8", "surrogateescape")))


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sweep(folder: str, name: str) -> None:
    """Remove temporaries of this file whose writer is gone."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith(f".{name}.") and entry.name.endswith(".tmp")):
                continue
            pid = entry.name[len(name) + 2 :].partition("-")[0]
            if pid.isdigit() and not procfs.exists(int(pid)):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
