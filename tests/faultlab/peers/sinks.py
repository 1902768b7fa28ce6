"""Where the alarms of a peer arrive: an HTTP receiver and a mail server, both on loopback."""

from __future__ import annotations

import email
import email.policy
import http.server
import json
import socketserver
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_BODY = 1 << 20


@dataclass(frozen=True)
class Arrival:
    """One message as it arrived: epoch seconds of the receiver's clock, and its fields."""

    at: float
    fields: dict[str, Any]


class Sink:
    """Keeps what arrives, in order; a subclass says how it arrives."""

    def __init__(self, server: socketserver.TCPServer) -> None:
        self.arrivals: list[Arrival] = []
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The free port it was given."""
        return int(self._server.server_address[1])

    def keep(self, fields: dict[str, Any]) -> None:
        """Called in the server's threads; appending to a list needs no lock."""
        self.arrivals.append(Arrival(time.time(), fields))

    def close(self) -> None:
        """Take no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _TCPServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class WebSink(Sink):
    """Takes any POST; JSON and form bodies become fields, others stand under ``text``."""

    def __init__(self) -> None:
        keep = self.keep

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = min(int(self.headers["content-length"] or 0), MAX_BODY)
                keep(_fields(self.rfile.read(length).decode(errors="replace")))
                self.send_response(200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args: object) -> None:
                return

        super().__init__(_TCPServer(("127.0.0.1", 0), Handler))

    @property
    def url(self) -> str:
        """Where to POST."""
        return f"http://127.0.0.1:{self.port}/"


def _fields(body: str) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except ValueError:
        form = urllib.parse.parse_qs(body, keep_blank_values=True)
        return {key: values[0] for key, values in form.items()} or {"text": body}
    return parsed if isinstance(parsed, dict) else {"text": body}


class MailSink(Sink):
    """As much of RFC 5321 as a program that sends mail to its own box needs."""

    def __init__(self) -> None:
        keep = self.keep

        class Handler(socketserver.StreamRequestHandler):
            timeout = 30

            def handle(self) -> None:
                try:
                    _converse(self.rfile.readline, self._say, keep)
                except OSError:
                    return

            def _say(self, line: str) -> None:
                self.wfile.write(line.encode() + b"\r\n")

        super().__init__(_TCPServer(("127.0.0.1", 0), Handler))


def _converse(
    hear: Callable[[int], bytes],
    say: Callable[[str], None],
    keep: Callable[[dict[str, Any]], None],
) -> None:
    say("220 lab ESMTP")
    while line := hear(4096):
        verb = line[:4].strip().upper()
        if verb == b"DATA":
            say("354 go on")
            keep(_mail(hear))
            say("250 kept")
        elif verb == b"QUIT":
            say("221 bye")
            return
        else:
            say("250 lab")


def _mail(hear: Callable[[int], bytes]) -> dict[str, Any]:
    lines: list[bytes] = []
    while (line := hear(4096)) and line.rstrip(b"\r\n") != b".":
        if sum(map(len, lines)) < MAX_BODY:
            lines.append(line[1:] if line.startswith(b"..") else line)
    message = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
    body = message.get_body(("plain",))
    text = body.get_content() if body is not None else ""
    return {"title": str(message["subject"] or ""), "text": str(text)}
