"""A folder shown through FUSE by a process that can be stopped: then every call on it blocks.

Run as a program (``fuse_folder.py FOLDER MOUNTPOINT``, as root) it serves FOLDER read-only in the
protocol of the kernel, with nothing cached, so that each ``stat`` asks it again. Writers use
FOLDER itself, as another machine writes to a network file system.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import stat
import struct
import subprocess
import sys
from pathlib import Path

LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 5, 14, 15, 17, 18
INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 26, 27, 28, 29, 36, 42
DIRECT_IO = 1
MNT_DETACH = 2
_IN = struct.Struct("<IIQQIIII")
_OUT = struct.Struct("<IiQ")


class FuseFolder:
    """The mount ``point`` and the process behind it; ``close`` in any case."""

    def __init__(self, folder: Path, point: Path) -> None:
        """Raises OSError where FUSE cannot be mounted."""
        self.point = point
        self._server = subprocess.Popen(
            [sys.executable, "-S", __file__, str(folder), str(point)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        assert self._server.stderr is not None
        if self._server.stdout.readline().strip() != "mounted":
            raise OSError(self._server.stderr.read().strip())

    def stop(self) -> None:
        """From now on nothing answers."""
        self._server.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Answer again, also what was asked meanwhile."""
        self._server.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End the process, which lets go whoever waits for it, and unmount."""
        self._server.kill()
        self._server.communicate()
        ctypes.CDLL(None).umount2(os.fsencode(self.point), MNT_DETACH)


class _Server:
    def __init__(self, folder: str) -> None:
        self._paths = {1: folder}
        self._nodes = {folder: 1}
        self._lists: dict[int, list[os.DirEntry[str]]] = {}

    def answer(self, code: int, node: int, body: bytes) -> bytes | None:
        """The body of the answer; ``None`` for messages that get none. Raises OSError."""
        if code in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        path = self._paths.get(node, "")
        if code == INIT:
            return struct.pack("<IIIIHHIIHH", 7, 31, 0, 0, 8, 8, 131072, 1, 0, 0) + bytes(32)
        if code == LOOKUP:
            return self._entry(f"{path}/{os.fsdecode(body.rstrip(bytes(1)))}")
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + _attributes(path)
        if code == READLINK:
            return os.fsencode(os.readlink(path))
        if code == OPENDIR:
            self._lists[node] = list(os.scandir(path))
            return struct.pack("<QII", node, 0, 0)
        if code == OPEN:
            return struct.pack("<QII", os.open(path, os.O_RDONLY), DIRECT_IO, 0)
        if code in (READ, READDIR):
            handle, offset, size = struct.unpack_from("<QQI", body)
            if code == READ:
                return os.pread(handle, size, offset)
            return self._names(handle, offset, size)
        if code == STATFS:
            seen = os.statvfs(path)
            counts = (seen.f_blocks, seen.f_bfree, seen.f_bavail, seen.f_files, seen.f_ffree)
            return struct.pack("<QQQQQIII", *counts, seen.f_bsize, 255, seen.f_frsize) + bytes(28)
        if code == RELEASE:
            os.close(struct.unpack_from("<Q", body)[0])
            return b""
        if code == RELEASEDIR:
            return b""
        raise OSError(errno.ENOSYS, "not served")

    def _entry(self, path: str) -> bytes:
        attributes = _attributes(path)
        node = self._nodes.setdefault(path, len(self._nodes) + 1)
        self._paths[node] = path
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + attributes

    def _names(self, node: int, offset: int, size: int) -> bytes:
        out = b""
        for place, entry in enumerate(self._lists.get(node, [])[offset:], offset + 1):
            name = os.fsencode(entry.name)
            kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode) >> 12
            one = struct.pack("<QQII", entry.inode(), place, len(name), kind) + name
            one += bytes(-len(one) % 8)
            if len(out) + len(one) > size:
                break
            out += one
        return out


def _attributes(path: str) -> bytes:
    seen = os.lstat(path)
    times = (seen.st_atime_ns, seen.st_mtime_ns, seen.st_ctime_ns)
    return struct.pack(
        "<QQQQQQIIIIIIIIII",
        *(seen.st_ino, seen.st_size, seen.st_blocks),
        *(time // 1_000_000_000 for time in times),
        *(time % 1_000_000_000 for time in times),
        *(seen.st_mode, seen.st_nlink, seen.st_uid, seen.st_gid, 0, 4096, 0),
    )


def main(folder: str, point: str) -> None:
    """Mount, say ``mounted``, and serve until the mount is gone."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"test", os.fsencode(point), b"fuse.test", 0, options.encode()):
        sys.exit(f"FUSE cannot be mounted here: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    server = _Server(folder)
    while True:
        try:
            data = os.read(device, 1 << 18)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                continue  # that request was taken back
            return
        _, code, unique, node, *_ = _IN.unpack_from(data)
        failed = 0
        try:
            body = server.answer(code, node, data[_IN.size :])
        except OSError as error:
            failed, body = -(error.errno or errno.EIO), b""
        if body is not None:
            with contextlib.suppress(FileNotFoundError):  # whoever asked was killed
                os.write(device, _OUT.pack(_OUT.size + len(body), failed, unique) + body)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
