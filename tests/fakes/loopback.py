"""A web server on loopback, for as long as a test wants it."""

from __future__ import annotations

import http.server
import threading


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """Writes no log, and bears with a client that hangs up."""

    def log_message(self, *args: object) -> None:
        return

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

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
