"""A mail server on loopback that keeps what it is sent: as much of SMTP (RFC 5321) as a client needs."""

from __future__ import annotations

import socketserver
import threading


class Mailbox:
    """Used by `with`; ``got`` has each mail as it came."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 box\r\n")
                while line := self.rfile.readline():
                    word = line.split()[0].upper() if line.split() else b""
                    if word == b"DATA":
                        self.wfile.write(b"354 go on\r\n")
                        outer.got.append(b"".join(iter(self._line, b".\r\n")))
                    self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 well\r\n")
                    if word == b"QUIT":
                        return

            def _line(self) -> bytes:
                line = self.rfile.readline()
                if not line:
                    raise ConnectionError("the mail has no end")
                return line[1:] if line.startswith(b"..") else line

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Mailbox:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
