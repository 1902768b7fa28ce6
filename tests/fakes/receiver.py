"""What stands at the other end of an alert URL: a real HTTP server on loopback."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Got:
    """One push as it arrived."""

    path: str
    data: dict[str, Any]
    headers: dict[str, str]
    text: str = ""
    """The body, whatever it is."""


class Receiver:
    """Keeps what it is sent; ``status`` and ``headers`` are what it answers, ``hang`` makes it never
    answer, ``dribble`` makes it answer a byte in each second. With a ``certificate`` (its key lies beside
    it) it speaks TLS."""

    def __init__(self, port: int = 0, certificate: Path | None = None) -> None:
        self.got: list[Got] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.dribble = False
        self.never = ""
        """A push with this in its text is answered by 400, whatever ``status`` is."""
        self.hang = threading.Event()
        self.hang.set()
        self.arrived = threading.Event()
        self.closing = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["content-length"])).decode(
                    "utf-8", "replace"
                )
                data = json.loads(text) if text.startswith("{") else {}
                outer.got.append(Got(self.path, data, dict(self.headers), text))
                outer.arrived.set()
                outer.hang.wait(180)
                while outer.dribble and not outer.closing.wait(1.0):
                    self.wfile.write(b"H")
                    self.wfile.flush()
                bad = bool(outer.never) and outer.never in text
                self.send_response(400 if bad else outer.status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                return

            def handle(self) -> None:
                try:
                    super().handle()
                except (ConnectionError, ssl.SSLError):
                    return

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"json://127.0.0.1:{self.port}/"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, certificate.with_name("key.pem"))
            # The handshake belongs to the thread of a connection: one that fails ends no server.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
            self.url = f"jsons://localhost:{self.port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        """End it; safe to call twice."""
        if self.closing.is_set():
            return
        self.closing.set()
        self.hang.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
