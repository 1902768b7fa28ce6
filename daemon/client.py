"""A blocking client of the daemon, for commands and screens."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from .system import jsonlines
from .system.control_socket import connect_spare, socket_path_fits
from .system.errors import DaemonUnreachable, MiddlewatchError

LISTS = {
    "runs": "",
    "overview": "runs",
    "incidents": "",
    "checkpoints": "checkpoints",
    "outbox": "",
}
"""Questions whose answers come in pages, and the field that has the list (empty: all of the data)."""
PAGE_ROWS = 500
"""Rows of a page at most (our choice; the daemon ends it after 1 MiB in any case)."""
Say = Callable[[str, Mapping[str, Any]], None]


class Readable(Protocol):
    """What answers are read from."""

    def readline(self, limit: int, /) -> bytes:
        """A line, or what there is at the end."""


class RemoteError(MiddlewatchError):
    """The daemon answered with an error; ``exit_code`` is the one in its answer."""

    def __init__(self, message: str, hint: str, exit_code: int) -> None:
        super().__init__(message, hint)
        self.exit_code = exit_code


class Client:
    """Asks the daemon over its control socket at ``path``; one connection per question."""

    def __init__(self, path: str, timeout_s: float = 5.0) -> None:
        """``path``: the socket in a state directory; where there is none, its spare one is tried."""
        self.path = path
        self.timeout_s = timeout_s

    def ask(self, op: str, **args: Any) -> Any:
        """Ask once; returns the ``data`` of the answer, a long list whole.

        Raises DaemonUnreachable (also after ``timeout_s`` without a sign of an answer) or RemoteError.
        """
        if op not in LISTS:
            with self._talk(self.timeout_s, op, args) as (_, answers):
                return next(answers)["data"]
        asked = {**args, "limit": PAGE_ROWS}
        with self._talk(self.timeout_s, op, asked) as (say, answers):
            answer = next(answers)
            data = answer["data"]
            while answer.get("next"):
                say(op, {**asked, "after": answer["next"]})
                answer = next(answers)
                _rows(op, data).extend(_rows(op, answer["data"]))
            return data

    def follow(self, op: str, **args: Any) -> Iterator[Any]:
        """Subscribe: yields the ``data`` of every answer, with no limit on the wait for the next.

        Raises DaemonUnreachable when the daemon ends, or RemoteError.
        """
        with self._talk(None, op, args) as (_, answers):
            for answer in answers:
                yield answer["data"]

    @contextlib.contextmanager
    def _talk(
        self, timeout: float | None, op: str, args: Mapping[str, Any]
    ) -> Iterator[tuple[Say, Iterator[dict[str, Any]]]]:
        """Connect and ask; gives what asks again on the same connection, and the answers."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(self.timeout_s)

            def say(op: str, args: Mapping[str, Any]) -> None:
                sock.sendall(jsonlines.encode({"v": jsonlines.VERSION, "op": op, **args}))

            try:
                self._connect(sock)
                say(op, args)
                sock.settimeout(timeout)
                with sock.makefile("rb") as stream:
                    yield say, self._answers(stream)
            except (OSError, EOFError) as error:
                raise self._unreachable(error) from error

    def connection(self) -> socket.socket:
        """A connection for who speaks the protocol himself, to be closed by the caller. Raises
        DaemonUnreachable."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._connect(sock)
        except OSError as error:
            sock.close()
            raise self._unreachable(error) from error
        return sock

    def _connect(self, sock: socket.socket) -> None:
        path = Path(self.path)
        if not socket_path_fits(path):
            path = path.resolve()  # the way through a link may be longer than the place it leads to
        try:
            sock.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            if not connect_spare(sock, path.parent):
                raise

    def _answers(self, stream: Readable) -> Iterator[dict[str, Any]]:
        while line := stream.readline(jsonlines.MAX_LINE + 1):
            yield self._open(line)
        raise self._unreachable(ConnectionError("it closed the connection without an answer"))

    def _open(self, line: bytes) -> dict[str, Any]:
        try:
            answer = jsonlines.decode(line)
        except ValueError as error:
            raise self._unreachable(error) from error
        if not answer.get("ok"):
            raise RemoteError(
                str(answer.get("error", "the daemon refused")),
                str(answer.get("hint", "")),
                int(answer.get("exit_code", 5)),
            )
        return {**answer, "data": answer.get("data")}

    def _unreachable(self, error: Exception) -> DaemonUnreachable:
        hint = "start it with `middlewatch start`, or name its --state-dir"
        if isinstance(error, PermissionError):
            hint = "it is another user's: ask as that user, with sudo, or name your own --state-dir"
        return DaemonUnreachable(f"no daemon answers on {self.path} ({error})", hint)


def _rows(op: str, data: Any) -> list[Any]:
    """The list in the data of an answer."""
    rows: list[Any] = data[LISTS[op]] if LISTS[op] else data
    return rows
