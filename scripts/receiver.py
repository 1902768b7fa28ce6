"""What is needed to see a push arrive: a receiver on loopback, and the log of the training it is about."""

from __future__ import annotations

import json
import queue
import re
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOSS = re.compile(r"iter (\d+): loss (\S+),")
PUSHED_NAN = re.compile(r"\b(nan|inf|infinite|not a number)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Push:
    """A message as it arrived at the receiver; ``at`` is a reading of ``perf_counter``."""

    title: str
    body: str
    at: float


class Receiver:
    """An HTTP server on loopback that takes what Apprise posts to a ``json://`` URL."""

    def __init__(self) -> None:
        self.pushes: queue.Queue[Push] = queue.Queue()
        pushes = self.pushes

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                at = time.perf_counter()
                size = min(int(self.headers.get("Content-Length") or 0), 1 << 20)
                try:
                    message = json.loads(self.rfile.read(size))
                    push = Push(str(message["title"]), str(message["message"]), at)
                except (ValueError, KeyError, TypeError):
                    self.send_error(400)
                    return
                pushes.put(push)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *words: object, **named: object) -> None:
                """Say nothing on stderr."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"json://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self.server.shutdown()
        self.server.server_close()


class Log:
    """The lines of a growing file, as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.rest = b""

    def lines(self) -> list[str]:
        """Whole lines that came since the last call; none while there is no file."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read()
        except FileNotFoundError:
            return []
        self.offset += len(data)
        *whole, self.rest = (self.rest + data).split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole]
