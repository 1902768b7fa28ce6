"""Where the control socket can be: the length of its path, and a second place where the state directory cannot
hold it.

On a disk that has become read-only, or has no inode left, the daemon goes on watching. It is asked at a
socket in /dev/shm then, whose name is worked out from the state directory, so that commands find it.
Everybody may put something there: a client speaks only to root, or to who owns the state directory.
"""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import struct
from pathlib import Path

FOLDER = "/dev/shm"
_CREDENTIALS = struct.Struct("3i")
"""``struct ucred``: pid, uid, gid (unix(7))."""


def socket_path_fits(path: Path) -> bool:
    """True if ``path`` fits into the address of a Unix socket (107 bytes on Linux)."""
    return len(os.fsencode(path)) <= 107


def spare_path(state_root: Path) -> Path:
    """Where the socket of this state directory lies if it cannot lie there."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(state_root))).hexdigest()[:12]
    return Path(FOLDER) / f"middlewatch-{_owner(state_root)}-{digest}.sock"


def spare_there(state_root: Path) -> bool:
    """True when there is one that root or the owner of the state directory has made."""
    try:
        seen = os.lstat(spare_path(state_root))
    except OSError:
        return False
    return stat.S_ISSOCK(seen.st_mode) and seen.st_uid in _trusted(state_root)


def connect_spare(sock: socket.socket, state_root: Path) -> bool:
    """Connect to it; False when there is none of ours. Raises OSError when it does not listen."""
    if not spare_there(state_root):
        return False
    path = spare_path(state_root)
    sock.connect(str(path))
    told = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    if _CREDENTIALS.unpack(told)[1] not in _trusted(state_root):
        raise ConnectionRefusedError(f"another user listens at {path}")
    return True


def _trusted(state_root: Path) -> set[int]:
    return {0, os.geteuid(), _owner(state_root)}


def _owner(state_root: Path) -> int:
    try:
        return state_root.stat().st_uid
    except OSError:
        return os.geteuid()
