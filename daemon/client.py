"""A blocking client of the daemon, for commands and screens."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Generator, Iterator
from typing import Any

from .system import jsonlines
from .system.errors import DaemonUnreachable, MiddlewatchError


class RemoteError(MiddlewatchError):
    """The daemon answered with an error; ``exit_code`` is the one in its answer."""

    def __init__(self, message: str, hint: str, exit_code: int) -> None:
        super().__init__(message, hint)
        self.exit_code = exit_code


class Client:
    """Asks the daemon over its control socket at ``path``; one connection per question."""

    def __init__(self, path: str, timeout_s: float = 5.0) -> None:
        self.path = path
        self.timeout_s = timeout_s

    def ask(self, op: str, **args: Any) -> Any:
        """Ask once; returns the ``data`` of the answer.

        Raises DaemonUnreachable (also after ``timeout_s`` without an answer) or RemoteError.
        """
        with contextlib.closing(self._lines(op, args, self.timeout_s)) as lines:
            return next(lines)

    def follow(self, op: str, **args: Any) -> Iterator[Any]:
        """Subscribe: yields the ``data`` of every answer, with no limit on the wait for the next.

        Raises DaemonUnreachable when the daemon ends, or RemoteError.
        """
        yield from self._lines(op, args, None)

    def _lines(
        self, op: str, args: dict[str, Any], timeout: float | None
    ) -> Generator[Any, None, None]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(self.timeout_s)
            try:
                sock.connect(self.path)
                sock.sendall(jsonlines.encode({"v": jsonlines.VERSION, "op": op, **args}))
                sock.settimeout(timeout)
                with sock.makefile("rb") as answers:
                    while line := answers.readline(jsonlines.MAX_LINE + 1):
                        yield self._open(line)
            except (OSError, EOFError) as error:
                raise self._unreachable(error) from error
        raise self._unreachable(ConnectionError("it closed the connection without an answer"))

    def _open(self, line: bytes) -> Any:
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
        return answer.get("data")

    def _unreachable(self, error: Exception) -> DaemonUnreachable:
        return DaemonUnreachable(
            f"no daemon answers on {self.path} ({error})",
            "start it with `middlewatch start`, or name its --state-dir",
        )
