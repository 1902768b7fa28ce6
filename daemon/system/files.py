"""Atomic writing of files, syncing of folders, dropping page cache, a digest of several files."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Mapping

from . import page_cache, procfs
from .places import open_to_write
from .private import open_private

_MODE = 0o644
_SWEPT: set[str] = set()
"""Paths for which temporary files of an earlier process were removed: once per process."""
_NOT_OFFERED = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.ENOSYS)
"""Errors of fsync(2) on file systems that cannot sync a folder, such as some network disks."""


def write_whole(
    path: str,
    text: str,
    *,
    durable_name: bool = True,
    private: bool = False,
    linked_folder: bool = True,
) -> None:
    """Replace a file: temporary file in the same folder, fsync, rename, fsync of the folder.

    A reader sees the old text or the new one, also after ``kill -9``. Without ``durable_name``
    the folder is not synced: after a crash of the box the old text may be back, but never a part.
    With ``private`` only its owner may read it, whatever the umask is. Without ``linked_folder`` the
    folder must be none that a link stands for, also none that takes its place while we write.

    Raises OSError (no space, no folder, no permission, a link). The old file is then unchanged and no
    temporary file is left, except when syncing the folder fails, which comes after the rename. A
    killed writer may leave a temporary file, ``.NAME.PID-….tmp``: the first write of this path by
    another process removes it.
    """
    folder, name = os.path.split(path)
    folder, held = folder or ".", -1
    if not linked_folder:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        folder = f"/proc/self/fd/{held}"
    try:
        _replace(folder, name, text, private)
        if durable_name:
            sync_folder(folder)
        if path not in _SWEPT:
            _SWEPT.add(path)
            _sweep(folder, name)
    finally:
        if held >= 0:
            os.close(held)


def _replace(folder: str, name: str, text: str, private: bool) -> None:
    temporary = f"{folder}/.{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    fd = open_private(temporary, flags) if private else os.open(temporary, flags, _MODE)
    try:
        try:
            _write_all(fd, text.encode("utf-8", "surrogateescape"))
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, f"{folder}/{name}")
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_for_others(path: str, text: str) -> None:
    """Replace a file in a folder of its own, which is made if it is not there. It is for a person to
    read, and may lie where another user may put things: a link in place of the folder is refused.

    Raises OSError, as :func:`write_whole`.
    """
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    if os.path.islink(folder):
        raise OSError(errno.ELOOP, "a link stands in place of the folder", folder)
    write_whole(path, text, linked_folder=False)


def write_beside_others(folder: str, texts: Mapping[str, str]) -> None:
    """Replace files (name -> text) in a folder that may be another user's, made if it is missing.

    No link of theirs leads elsewhere: see :func:`.places.open_to_write`. Raises OSError.
    """
    fd = open_to_write(folder)
    try:
        for name, text in texts.items():
            write_whole(f"/proc/self/fd/{fd}/{name}", text)
    finally:
        os.close(fd)


def sync_folder(folder: str) -> None:
    """Sync a folder, so that files renamed in it keep their new names after a crash of the box.

    Does nothing when the folder may not be opened or the file system cannot sync folders. Raises
    OSError for an error of the disk: the new name may then be lost, and the caller must not treat
    it as durable.
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
    """Drop ``count`` bytes of a file from the page cache; 0: up to its end.

    Pages that are not on the disk yet stay in the cache: sync them first. So does a page of which
    only a part is in the range.
    """
    page_cache.drop(fd, offset, count)


def combined_digest(digests: Mapping[str, str]) -> str:
    """One digest for several files, 32 hex digits: the digest of the lines ``<32 hex>  <name>``.

    ``digests``: name relative to the checkpoint -> digest of the file (32 hex digits). The lines
    are sorted by name, end with a newline and are UTF-8. The same as
    ``xxhsum -H2 FILES | sort -k2 | xxhsum -H2``.
    """
    import xxhash  # here: not needed to write files

    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    return str(xxhash.xxh3_128_hexdigest(lines.encode("utf-8", "surrogateescape")))


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sweep(folder: str, name: str) -> None:
    """Remove temporary files of this file whose writer does not exist any more."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith(f".{name}.") and entry.name.endswith(".tmp")):
                continue
            pid = entry.name[len(name) + 2 :].partition("-")[0]
            if pid.isdigit() and not procfs.exists(int(pid)):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
