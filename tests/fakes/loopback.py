"""A web server on loopback, for as long as a test wants it."""

from __future__ import annotations

import http.server
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """Writes no log, and bears with a client that hangs up."""

    def log_message(self, *args: object) -> None:
        return

    def reply(self, code: int, kind: str, data: bytes, **headers: str) -> None:
        """Answer with ``data`` of the media type ``kind``; a header's ``_`` stands for ``-``."""
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            return


class Loopback:
    """Serves with ``handler`` on a free port until :meth:`close`."""

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
