"""Where the daemon is asked: its socket in the state directory, or a spare one if that cannot hold it."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

from ..system.control_socket import socket_path_fits
from ..system.errors import Refused, UsageError
from ..system.loop import Loop

AGAIN_S = 10.0
"""Seconds after which a socket that could not be made is tried again (our choice)."""
PENDING = 128
"""Backlog of ``listen``: so many clients can connect at once before one is refused."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NO_DISK = (*_NO_ROOM, errno.EROFS, errno.EIO)


class Listener:
    """The listening socket. ``connect`` is called when somebody wants to be accepted.

    Raises UsageError when ``path`` is too long for a socket, Refused when it cannot be bound. A full
    or read-only disk is no reason not to watch: ``make_room`` may delete what is kept for such a
    time, it listens at ``spare`` meanwhile, and it is tried again every :data:`AGAIN_S` seconds.
    """

    def __init__(
        self,
        path: Path,
        loop: Loop,
        connect: Callable[[], None],
        tell: Callable[[str], None],
        make_room: Callable[[], bool] = lambda: False,
        spare: Path | None = None,
    ) -> None:
        self.path = path
        self.trouble = ""
        """What is wrong with the place where it is asked; empty if the socket is there."""
        self._loop, self._connect, self._tell, self._make_room = loop, connect, tell, make_room
        self._spare = spare
        self._elsewhere = self._started = self._closed = False
        self._socket: socket.socket | None = None
        if not socket_path_fits(path):
            raise UsageError(
                f"{path} is too long for a socket (107 bytes)", "use a shorter --state-dir"
            )

    def open(self) -> None:
        """Make the socket, also once more if it is there no more."""
        if self._closed:
            return
        self._end()
        told = self.trouble
        try:
            self._socket = self._bound()
        except OSError as error:
            if error.errno not in _NO_DISK and not self._started:
                raise Refused(f"cannot listen on {self.path}: {error.strerror}") from error
            self.trouble = f"no socket {self.path}: {error.strerror}"
            self._listen_elsewhere()
            if self.trouble != told:
                self._tell(self.trouble)
            self._loop.later(AGAIN_S, self._listen_later)
        else:
            self.trouble = ""
            self._leave_spare()
        self._started = True
        self.resume()

    def accept(self) -> socket.socket:
        """The next connection. Raises BlockingIOError without one, OSError without a descriptor."""
        if self._socket is None:
            raise BlockingIOError
        return self._socket.accept()[0]

    def pause(self) -> None:
        """Accept nobody for a second: the waiting client would wake the loop again and again."""
        if self._socket is not None:
            self._loop.unwatch(self._socket.fileno())
            self._loop.later(1.0, self.resume)

    def resume(self) -> None:
        """Call ``connect`` for whoever wants to be accepted."""
        if self._socket is not None and not self._closed:
            self._loop.watch(self._socket.fileno(), self._connect)

    def close(self) -> None:
        """Close the socket and remove its file."""
        self._closed = True
        self._end()
        self._leave_spare()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _end(self) -> None:
        if self._socket is not None:
            self._loop.unwatch(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def _bound(self) -> socket.socket:
        try:
            return _bind(self.path)
        except OSError as error:
            if error.errno not in _NO_ROOM or not self._make_room():
                raise
            return _bind(self.path)

    def _listen_elsewhere(self) -> None:
        if self._spare is not None:
            with contextlib.suppress(OSError):
                self._socket = _bind(self._spare)
                self._elsewhere = True
                self.trouble += f"; commands find {self._spare} instead"
        if self._socket is None:
            self.trouble = f"nobody can ask this daemon: {self.trouble}"

    def _leave_spare(self) -> None:
        """Remove the spare socket, also one that a daemon that was killed has left."""
        self._elsewhere = False
        if self._spare is not None:
            with contextlib.suppress(OSError):
                self._spare.unlink()

    def _listen_later(self) -> None:
        if self._socket is None or self._elsewhere:
            self.open()


def _bind(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        # We hold the lock of the state directory, so an existing socket is a leftover.
        path.unlink(missing_ok=True)
        listener.bind(str(path))
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.listen(PENDING)
    listener.setblocking(False)
    return listener
