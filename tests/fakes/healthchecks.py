"""A dead man's service on loopback, with the protocol of healthchecks: it says who is down, and since when.

Success, ``/start``, ``/fail`` and ``/log`` by POST, as in https://healthchecks.io/docs/http_api/. A check
is *up* after a success, *down* after a fail, or when nothing has come for its period and grace. The server
itself is packaged neither on PyPI nor in Debian, so that no test can install it.
"""

from __future__ import annotations

import http.server
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from .loopback import Loopback, QuietHandler


@dataclass
class Ping:
    """One ping that was accepted."""

    signal: str
    body: str
    at: float


class Healthchecks:
    """One check; its ``clock`` is the monotonic one of this process, until a test gives it another."""

    def __init__(self, period_s: float, grace_s: float) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self.period_s, self.grace_s = period_s, grace_s
        self.pings: list[Ping] = []
        self.status = 200
        self.missing = False
        """Nobody has made the check yet; a ping with ``?create=1`` does."""
        self.uuid = "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278"
        outer = self

        class Handler(QuietHandler, http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                parts = urlsplit(self.path)
                name, _, signal = parts.path.strip("/").partition("/")
                found = name == outer.uuid and signal in ("", "start", "fail", "log")
                status = outer.status if found else 404
                if status == 200 and outer.missing:
                    status = 201 if "create=1" in parts.query else 404
                    outer.missing = status == 404
                if status in (200, 201):
                    outer.pings.append(Ping(signal or "success", body, outer.clock()))
                answer = {200: b"OK", 201: b"Created", 404: b"not found"}.get(status, b"")
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        self._server = Loopback(Handler)
        self.url = f"{self._server.url}/{self.uuid}"

    @property
    def signals(self) -> list[str]:
        """What came, in order."""
        return [ping.signal for ping in self.pings]

    @property
    def state(self) -> str:
        """``new``, ``up`` or ``down``, as the service would tell it now: after the last success for the
        period and the grace, and after a start without an end for the grace (``get_status`` of its
        ``hc/api/models.py``; that of its page, with *late* shown as up)."""
        told = [ping for ping in self.pings if ping.signal in ("success", "fail", "start")]
        if not told:
            return "new"
        now = self.clock()
        if told[-1].signal == "start" and now - told[-1].at >= self.grace_s:
            return "down"
        done = [ping for ping in told if ping.signal != "start"]
        if not done:
            return "new"
        late = now - done[-1].at >= self.period_s + self.grace_s
        return "down" if done[-1].signal == "fail" or late else "up"

    def close(self) -> None:
        self._server.close()


class Kuma:
    """A push monitor of Uptime Kuma on loopback; ``told``: the states that came, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        outer = self

        class Handler(QuietHandler, http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.told += parse_qs(urlsplit(self.path).query)["status"]
                answer = b'{"ok":true}'
                self.send_response(200)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        self._server = Loopback(Handler)
        self.url = f"{self._server.url}/api/push/TOKEN"

    def close(self) -> None:
        self._server.close()
