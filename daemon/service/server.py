"""The control socket, over which commands and screens ask the daemon.

A Unix socket that only its owner can open; one JSON line per question and per answer. The daemon
never waits for a client: one that does not read its answers is disconnected.
"""

from __future__ import annotations

import contextlib
import os
import socket
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..config.paths import socket_path_fits
from ..system import jsonlines
from ..system.errors import MiddlewatchError, Refused, UsageError
from ..system.loop import Loop

Handler = Callable[[Mapping[str, Any]], Any]
MAX_CLIENTS = 64
"""Connections at the same time (our choice); one more replaces the oldest that does not follow."""
MAX_QUESTION = 1 << 20
"""Bytes of one question: a run specification with thousands of ranks fits."""
MAX_BACKLOG = jsonlines.MAX_LINE
"""Bytes a client may leave unread before it is dropped."""
PENDING = 128
"""Backlog of ``listen``: so many clients can connect at once before one is refused."""


class _Client:
    """One connection, with the bytes received so far and the bytes not sent yet."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.asked = bytearray()
        self.unsent = bytearray()
        self.follows = False


class Server:
    """Answers questions with ``handlers``, and sends changes to the clients that follow.

    Raises UsageError when ``path`` is too long for a socket, Refused when it cannot be bound.
    """

    def __init__(
        self,
        path: Path,
        loop: Loop,
        handlers: Mapping[str, Handler],
        tell_bug: Callable[[str], None],
    ) -> None:
        self.path = path
        self._loop = loop
        self._handlers = handlers
        self._tell_bug = tell_bug
        self._clients: dict[int, _Client] = {}
        self._listener = self._listen()

    def _listen(self) -> socket.socket:
        if not socket_path_fits(self.path):
            raise UsageError(
                f"{self.path} is too long for a socket (107 bytes)", "use a shorter --state-dir"
            )
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            # We hold the lock of the state directory, so an existing socket is a leftover.
            self.path.unlink(missing_ok=True)
            listener.bind(str(self.path))
        except OSError as error:
            listener.close()
            raise Refused(f"cannot listen on {self.path}: {error.strerror}") from error
        finally:
            os.umask(before)
        listener.listen(PENDING)
        listener.setblocking(False)
        self._loop.watch(listener.fileno(), self._accept)
        return listener

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return  # the client has disconnected already
        except OSError:
            # No descriptors left: the waiting client would wake the loop again and again.
            self._loop.unwatch(self._listener.fileno())
            self._loop.later(1.0, self._accept_again)
            return
        if len(self._clients) >= MAX_CLIENTS:
            # Disconnect the oldest client that does not follow, not the new one.
            stale = next((c for c in self._clients.values() if not c.follows), None)
            if stale is None:
                sock.close()
                return
            self._drop(stale)
        sock.setblocking(False)
        client = _Client(sock)
        fd = sock.fileno()
        self._clients[fd] = client
        self._loop.watch(fd, lambda: self._read(client))

    def _accept_again(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.watch(self._listener.fileno(), self._accept)

    def _read(self, client: _Client) -> None:
        try:
            data = client.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(client)
            return
        client.asked += data
        *lines, rest = bytes(client.asked).split(b"\n")
        client.asked[:] = rest
        for line in lines:
            if client.sock.fileno() < 0:
                return
            self._send(client, self._answer(client, line))
        if len(client.asked) > MAX_QUESTION:
            self._drop(client)

    def _answer(self, client: _Client, line: bytes) -> bytes:
        try:
            question = jsonlines.decode(line)
            op = str(question.get("op"))
            handler = self._handlers.get(op)
            if handler is None:
                raise UsageError(f"unknown question {op!r}; the daemon may be older")
            answer = jsonlines.encode({"ok": True, "data": handler(question)})
            client.follows = client.follows or op == "follow"
            return answer
        except MiddlewatchError as error:
            return _no(str(error), error.hint, error.exit_code)
        except (ValueError, KeyError, TypeError) as error:
            return _no(f"malformed question: {error}", "", 2)
        except Exception as error:  # noqa: BLE001 - a bug must not end the daemon
            self._tell_bug("answering failed:\n" + "".join(traceback.format_exception(error)))
            return _no(f"internal error: {type(error).__name__}: {error}", "see its log", 5)

    def _send(self, client: _Client, answer: bytes) -> None:
        client.unsent += answer
        self._flush(client)

    def _flush(self, client: _Client) -> None:
        try:
            while client.unsent:
                del client.unsent[: client.sock.send(client.unsent)]
        except BlockingIOError:
            if len(client.unsent) > MAX_BACKLOG:
                self._drop(client)
                return
            self._loop.watch(client.sock.fileno(), lambda: self._flush(client), write=True)
            return
        except OSError:
            self._drop(client)
            return
        if client.sock.fileno() >= 0:
            self._loop.watch(client.sock.fileno(), lambda: self._read(client))

    def publish(self, data: Any) -> None:
        """Send one line to every client that follows."""
        line = jsonlines.encode({"ok": True, "data": data})
        for client in list(self._clients.values()):
            if client.follows:
                self._send(client, line)

    def _drop(self, client: _Client) -> None:
        fd = client.sock.fileno()
        if fd >= 0:
            self._loop.unwatch(fd)
            self._clients.pop(fd, None)
            client.sock.close()

    def close(self) -> None:
        """Close all connections and remove the socket file."""
        for client in list(self._clients.values()):
            self._drop(client)
        self._loop.unwatch(self._listener.fileno())
        self._listener.close()
        with contextlib.suppress(OSError):
            self.path.unlink()


def _no(error: str, hint: str, exit_code: int) -> bytes:
    return jsonlines.encode({"ok": False, "error": error, "hint": hint, "exit_code": exit_code})
