"""The server of the control socket, with handlers of a test, on a real socket."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from middlewatch.daemon.client import Client
from middlewatch.daemon.service.server import Handler, Server
from middlewatch.daemon.system import jsonlines
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.errors import Refused
from middlewatch.daemon.system.loop import Loop

PATIENCE_S = 120.0


class House:
    """A real server on a real socket, its loop turning in a thread."""

    def __init__(self, path: Path, more: Mapping[str, Handler] | None = None) -> None:
        self.path = path
        self.bugs: list[str] = []
        self.loop = Loop(SystemClock(), lambda error: self.bugs.append(repr(error)))
        self.asked: list[str] = []
        self._jobs: list[Callable[[], None]] = []
        self.server = Server(path, self.loop, {**self.handlers(), **(more or {})}, self.bugs.append)
        wake, self._bell = os.pipe()
        self._fds = (wake, self._bell)
        self.loop.watch(wake, lambda: self._work(wake))
        self._thread = threading.Thread(target=self.loop.run)
        self._thread.start()

    def handlers(self) -> Mapping[str, Callable[[Mapping[str, Any]], Any]]:
        return {
            "ping": lambda q: {"n": q.get("n")},
            "nan": lambda q: [float("nan")],
            "big": lambda q: "x" * int(q["size"]),
            "refuse": self._refuse,
            "bug": lambda q: 1 / 0,
            "odd": lambda q: object(),
            "need": lambda q: q["what"],
            "follow": lambda q: "here is what is known",
            "count": lambda q: self.asked.append("x"),
        }

    def _refuse(self, question: Mapping[str, Any]) -> Any:
        raise Refused("not this one", "try the other")

    def _work(self, wake: int) -> None:
        os.read(wake, 1)
        self._jobs.pop(0)()

    def do(self, job: Callable[[], None]) -> None:
        """Run ``job`` in the loop's thread."""
        self._jobs.append(job)
        os.write(self._bell, b"x")

    def publish(self, data: Any) -> None:
        self.do(lambda: self.server.publish(data))

    def ask(self, op: str, **args: Any) -> Any:
        return Client(str(self.path), PATIENCE_S).ask(op, **args)

    def call(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE_S)
        sock.connect(str(self.path))
        return sock

    def close(self) -> None:
        self.do(self.loop.stop)
        self._thread.join()
        self.server.close()
        self.loop.close()
        for fd in self._fds:
            os.close(fd)


def until(condition: Callable[[], Any], why: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, why
        time.sleep(0.005)


def line_of(sock: socket.socket) -> dict[str, Any]:
    with sock.makefile("rb") as answers:
        return jsonlines.decode(answers.readline())
