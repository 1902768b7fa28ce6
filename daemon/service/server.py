"""The control socket, over which commands and screens ask the daemon.

A Unix socket that only its owner can open; one JSON line per question and per answer. The daemon
never waits for a client: one that does not read its answers is disconnected, and a long answer is
made as fast as it is read (:mod:`.long_answers`).
"""

from __future__ import annotations

import socket
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..system import jsonlines
from ..system.descriptors import Spare, own
from ..system.errors import MiddlewatchError, UsageError
from ..system.loop import Loop
from .listener import Listener
from .long_answers import LongAnswer, limit_of

Handler = Callable[[Mapping[str, Any]], Any]
MAX_CLIENTS = 64
"""Connections at the same time (our choice), and at most half of the reserve of descriptors; one more
replaces the oldest that does not follow."""
FOR_QUESTIONS = 4
"""Connections that cannot be used to follow, so that a question is always answered. Our choice."""
MAX_QUESTION = 1 << 20
"""Bytes of one question: a run specification with thousands of ranks fits."""
MAX_BACKLOG = jsonlines.MAX_LINE
"""Bytes a client may leave unread before it is dropped."""
SLICE_S = 0.05
"""Seconds for which a long answer is made in one turn of the loop: half of what is served in a turn, so that
several clients and the sources take turns, and an answer comes in a second also where the daemon gets a
tenth of a core. Our choice; one row may take longer."""
SLICE_BYTES = 1 << 18
"""Bytes of a long answer that a client may leave unread before no more is made: more than the socket
holds (about 200 KiB), so that a client that reads never waits. Our choice."""


class _Client:
    """One connection, with the bytes received so far and the bytes not sent yet."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.asked = bytearray()
        self.waiting: deque[bytes] = deque()
        """Questions that came while a long answer is made."""
        self.unsent = bytearray()
        self.follows = False
        self.making: Iterator[bytes] | None = None
        """The rest of the long answer that is being made. Nothing is read from this client then."""
        self.begun = False
        """A part of it was sent."""
        self.at_it = False
        """More of it is made in the next turn; else it waits for the client to read."""
        self.list: tuple[str, LongAnswer] | None = None
        """The question and the answer of which the client may ask for another page."""
        self.news = bytearray()
        """Changes that came meanwhile, for a client that follows."""

    @property
    def gone(self) -> bool:
        """True once the connection is closed."""
        return self.sock.fileno() < 0


class Server:
    """Answers questions with ``handlers``, and sends changes to the clients that follow.

    Where it listens, and what it raises: :class:`.listener.Listener`.
    """

    def __init__(
        self,
        path: Path,
        loop: Loop,
        handlers: Mapping[str, Handler],
        tell_bug: Callable[[str], None],
        make_room: Callable[[], bool] = lambda: False,
        spare: Path | None = None,
    ) -> None:
        self._loop = loop
        self._listener = Listener(path, loop, self._accept, tell_bug, make_room, spare)
        self._handlers = handlers
        self._tell_bug = tell_bug
        self._clients: dict[int, _Client] = {}
        self._spare = Spare()
        """A descriptor that is given up when no other is left, so that one client is heard at least."""
        self._spare.hold(1)
        self._listener.open()

    @property
    def trouble(self) -> str:
        """What is wrong with the place where it is asked; empty if the socket is there."""
        return self._listener.trouble

    def open_again(self) -> None:
        """Make the socket once more."""
        self._listener.open()

    def _accept(self) -> None:
        wait = self._listener.pause
        for help_out in (partial(own.make_room, FOR_QUESTIONS), self._spare.give, wait):
            try:
                sock = self._listener.accept()
                break
            except (BlockingIOError, ConnectionError):
                return  # the client has disconnected already
            except OSError:  # no descriptor left
                help_out()
        else:
            return
        if len(self._clients) >= self._most():
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

    @staticmethod
    def _most() -> int:
        """Connections at the same time."""
        return min(MAX_CLIENTS, own.reserved // 2)

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
        client.waiting.extend(lines)
        self._answer_waiting(client)
        if len(client.asked) > MAX_QUESTION:
            self._drop(client)

    def _answer_waiting(self, client: _Client) -> None:
        """Answer what was asked, in order, up to an answer that takes longer."""
        while client.waiting and client.making is None and not client.gone:
            answer = self._answer(client, client.waiting.popleft())
            if isinstance(answer, bytes):
                self._send(client, answer)
            else:
                client.making, client.begun = answer, False
                self._loop.unwatch(client.sock.fileno())
                self._go_on(client)

    def _answer(self, client: _Client, line: bytes) -> bytes | Iterator[bytes]:
        try:
            question = jsonlines.decode(line)
            op = str(question.get("op"))
            handler = self._handlers.get(op)
            if handler is None:
                raise UsageError(f"unknown question {op!r}; the daemon may be older")
            if op == "follow" and not client.follows:
                self._check_followers()
            limit = limit_of(question)
            if question.get("after") is not None:
                data: Any = _kept(client, op, question["after"])
            else:
                data = handler(question)
            if isinstance(data, LongAnswer):
                client.list = None if op == "follow" else (op, data)
                answer: bytes | Iterator[bytes] = data.page(None if op == "follow" else limit)
            else:
                answer = jsonlines.encode({"ok": True, "data": data})
            client.follows = client.follows or op == "follow"
            return answer
        except MiddlewatchError as error:
            return _no(str(error), error.hint, error.exit_code)
        except (ValueError, KeyError, TypeError) as error:
            return _no(f"malformed question: {error}", "", 2)
        except Exception as error:  # noqa: BLE001 - a bug must not end the daemon
            return self._failed(error)

    def _failed(self, error: Exception) -> bytes:
        self._tell_bug("answering failed:\n" + "".join(traceback.format_exception(error)))
        return _no(f"internal error: {type(error).__name__}: {error}", "see its log", 5)

    # -- a long answer

    def _go_on(self, client: _Client) -> None:
        """Make more of the answer in the next turn, unless that is planned or much is unread."""
        if client.making is not None and not client.at_it and len(client.unsent) < SLICE_BYTES:
            client.at_it = True
            self._loop.later(0.0, partial(self._make, client))

    def _make(self, client: _Client) -> None:
        """Make some rows of the answer, and send them."""
        client.at_it = False
        if client.making is None:
            return  # it has disconnected
        clock, before = self._loop.clock, len(client.unsent)
        until = clock.monotonic() + SLICE_S
        try:
            for piece in client.making:
                client.unsent += piece
                if len(client.unsent) >= SLICE_BYTES or clock.monotonic() >= until:
                    break
            else:
                client.making = None
        except Exception as error:  # noqa: BLE001 - a bug must not end the daemon
            said = self._failed(error)
            if client.begun:  # half a line was sent: the client sees that no more comes
                self._drop(client)
                return
            client.unsent[before:] = said
            client.making = client.list = None
        client.begun = True
        if client.making is None:
            if client.list is not None and not client.list[1].next:
                client.list = None  # that was the last page
            client.unsent += client.news
            client.news.clear()
        self._flush(client)
        self._go_on(client)
        self._answer_waiting(client)

    # -- sending

    def _check_followers(self) -> None:
        following = sum(client.follows for client in self._clients.values())
        if following >= self._most() - FOR_QUESTIONS:
            raise UsageError(f"{following} clients follow already", "end one of them")

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
        if client.gone:
            return
        if client.making is not None:
            self._loop.unwatch(client.sock.fileno())
            self._go_on(client)
        else:
            self._loop.watch(client.sock.fileno(), lambda: self._read(client))

    def publish(self, data: Any) -> None:
        """Send one line to every client that follows."""
        line = jsonlines.encode({"ok": True, "data": data})
        for client in list(self._clients.values()):
            if not client.follows:
                continue
            if client.making is None:
                self._send(client, line)
            elif len(client.news) > MAX_BACKLOG:
                self._drop(client)
            else:  # behind the list that it gets now
                client.news += line

    def _drop(self, client: _Client) -> None:
        fd = client.sock.fileno()
        client.making = client.list = None
        if fd >= 0:
            self._loop.unwatch(fd)
            self._clients.pop(fd, None)
            client.sock.close()
            self._spare.hold(1)

    def close(self) -> None:
        """Close all connections and remove the socket file."""
        for client in list(self._clients.values()):
            self._drop(client)
        self._spare.give()
        self._listener.close()


def _no(error: str, hint: str, exit_code: int) -> bytes:
    return jsonlines.encode({"ok": False, "error": error, "hint": hint, "exit_code": exit_code})


def _kept(client: _Client, op: str, after: object) -> LongAnswer:
    """The list of which the client wants the next page. Raises UsageError."""
    kept = client.list
    if kept is None or kept[0] != op or kept[1].next != after:
        raise UsageError(
            "this list is not kept: a connection has one, until its last page or another list",
            "ask without `after`",
        )
    return kept[1]
