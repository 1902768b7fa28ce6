"""The socket of a docker engine, and GET requests to it; used in a child only (:mod:`.programs.docker`).

Who may speak to an engine is root: its socket is opened only where nobody but root and we can have put
it, and nothing is ever asked of it but to tell (GET). HTTP/1.0 is spoken, so that an answer ends with
its connection and comes in no chunks.
"""

from __future__ import annotations

import json
import os
import re
import socket
import stat
from typing import Any, Literal
from urllib.parse import quote

from ..system.clock import Clock
from ..system.ownership import Untrusted, check_way, is_ours, name_of

LONGEST = 1 << 20
"""Bytes of an answer, but for logs: the state of a container has 5 to 20 KiB."""
HEAD = 16 * 1024
"""Bytes of the head of an answer."""
_CHUNK = 1 << 16
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b")
_LENGTH = re.compile(rb"\r\nContent-Length:[ \t]*(\d{1,12})[ \t]*\r\n", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{64}")

Kind = Literal["absent", "refused", "late", "gone", "error"]


class Failure(Exception):
    """An engine that did not tell what it was asked; ``str()`` is a sentence."""

    def __init__(self, kind: Kind, words: str) -> None:
        super().__init__(words)
        self.kind: Kind = kind


class EngineSocket:
    """One engine. After an answer that came too late, nothing more is asked until :meth:`begin`."""

    def __init__(self, path: str, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._due = 0.0

    def begin(self, seconds: float) -> None:
        """From now on all answers together may take so many seconds."""
        self._due = self._clock.monotonic() + seconds

    def ask(self, container: str, what: str, **options: str) -> Any:
        """What GET ``/containers/CONTAINER/WHAT`` answers, from its JSON. Raises Failure."""
        return self._parsed(self.whole(self.target(container, what, options)))

    def events(self, container: str, kinds: list[str], since: str, until: str) -> list[Any]:
        """The events of these kinds of one container, from the last 256 of the engine; epoch seconds.
        Raises Failure."""
        filters = json.dumps(
            {"type": ["container"], "container": [_checked(container)], "event": kinds}
        )
        target = f"/events?since={quote(since)}&until={quote(until)}&filters={quote(filters)}"
        return [self._parsed(line) for line in self.whole(target).splitlines() if line.strip()]

    @staticmethod
    def target(container: str, what: str, options: dict[str, str]) -> str:
        """The target of a request about a container. Raises Failure for what is no id of one."""
        asked = "&".join(f"{name}={quote(value)}" for name, value in options.items())
        return f"/containers/{_checked(container)}/{what}" + (f"?{asked}" if asked else "")

    def whole(self, target: str) -> bytes:
        """The whole answer to a GET. Raises Failure, also for every status but 200."""
        sock, body, length = self.open(target)
        with sock:
            data = bytearray(body)
            while length is None or len(data) < length:
                chunk = self.receive(sock)
                if not chunk:
                    break
                data += chunk
                if len(data) > LONGEST:
                    raise Failure("error", f"{self} answers more than {LONGEST >> 20} MiB")
        if length is not None and len(data) < length:
            raise Failure("error", f"{self} has closed the connection in the middle of its answer")
        return bytes(data)

    def open(self, target: str) -> tuple[socket.socket, bytes, int | None]:
        """Send a GET; its connection, what has come behind the head, and the length of the body if that
        is told. Raises Failure, also for every status but 200."""
        sock = self._connect()
        try:
            sock.sendall(f"GET {target} HTTP/1.0\r\nHost: docker\r\n\r\n".encode("ascii"))
            data = b""
            while b"\r\n\r\n" not in data:
                chunk = self.receive(sock)
                if not chunk or len(data) > HEAD:
                    raise Failure("error", f"what listens at {self.path} does not answer as docker")
                data += chunk
            head, _, body = data.partition(b"\r\n\r\n")
            status = _STATUS.match(head)
            if status is None:
                raise Failure("error", f"what listens at {self.path} does not answer as docker")
            told = _LENGTH.search(head + b"\r\n")
            if status[1] != b"200":
                body += b"" if len(body) > HEAD else self.receive(sock)
                kind: Kind = "gone" if status[1] == b"404" else "error"
                raise Failure(kind, f"{self} answers {status[1].decode()}: {_words(body)}")
            return sock, body, None if told is None else int(told[1])
        except OSError as error:
            sock.close()
            raise Failure("error", f"{self} has closed the connection: {error}") from error
        except Failure:
            sock.close()
            raise

    def receive(self, sock: socket.socket) -> bytes:
        """The next bytes, within the time that is left; empty at the end. Raises Failure."""
        sock.settimeout(self._left())
        try:
            return sock.recv(_CHUNK)
        except TimeoutError:
            raise self._late() from None
        except OSError as error:
            raise Failure("error", f"{self} has closed the connection: {error}") from error

    def __str__(self) -> str:
        """The engine in a sentence."""
        return f"the docker engine at {self.path}"

    def _connect(self) -> socket.socket:
        self._check()
        left = self._left()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(left)
            sock.connect(self.path)
        except (TimeoutError, BlockingIOError):  # its queue is full: nobody takes connections
            sock.close()
            raise self._late() from None
        except PermissionError:
            sock.close()
            raise Failure("refused", f"the socket {self.path} may not be opened by us") from None
        except OSError as error:
            sock.close()
            raise Failure("absent", f"no docker engine listens at {self.path}: {error}") from error
        return sock

    def _check(self) -> None:
        """Raises Failure unless the socket is of root or ours, and nobody else can have put it there."""
        try:
            info = check_way(self.path, os.geteuid())
        except Untrusted as error:
            raise Failure(
                "refused", f"{error}, so the socket {self.path} may be anybody's"
            ) from None
        except PermissionError:
            raise Failure("refused", f"the socket {self.path} may not be opened by us") from None
        except OSError:
            raise Failure("absent", f"there is no docker engine at {self.path}") from None
        if not stat.S_ISSOCK(info.st_mode):
            raise Failure("refused", f"{self.path} is no socket")
        if not is_ours(info.st_uid):
            raise Failure("refused", f"the socket {self.path} belongs to {name_of(info.st_uid)}")

    def _left(self) -> float:
        left = self._due - self._clock.monotonic()
        if left <= 0:
            raise self._late()
        return left

    def _late(self) -> Failure:
        self._due = 0.0
        return Failure("late", f"{self} does not answer")

    def _parsed(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise Failure("error", f"{self} answers what cannot be read") from None


def _checked(container: str) -> str:
    if not _ID.fullmatch(container):
        raise Failure("error", "that is no id of a container")
    return container


def _words(body: bytes) -> str:
    """The words of an error: ``{"message": "No such container: …"}``."""
    try:
        told = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        told = body.decode("utf-8", "replace")
    return " ".join(str(told).split())[:200]
