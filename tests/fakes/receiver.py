"""What stands at the other end of an alert URL: a real HTTP server on loopback."""

from __future__ import annotations

import http.server
import json
import threading
from dataclasses import dataclass
from typing import Any


@dataclass
class Got:
    """One push as it arrived."""

    path: str
    data: dict[str, Any]
    headers: dict[str, str]


class Receiver:
    """Keeps what it is sent; ``status`` is what it answers, ``hang`` makes it never answer."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.status = 200
        self.hang = threading.Event()
        self.hang.set()
        self.arrived = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.got.append(Got(self.path, json.loads(body), dict(self.headers)))
                outer.arrived.set()
                outer.hang.wait(180)
                self.send_response(outer.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                return

            def handle(self) -> None:
                try:
                    super().handle()
                except ConnectionError:
                    return

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"json://127.0.0.1:{self.port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self.hang.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
