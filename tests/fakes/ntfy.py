"""An ntfy server on loopback, and the phone that shows its notifications and presses their buttons.

Publishing by JSON to ``/`` and by body to ``/TOPIC``, with the headers and parameters of
https://docs.ntfy.sh/publish/; reading by ``/TOPIC/json?poll=1&since=`` (an id, epoch seconds or ``all``) as in
https://docs.ntfy.sh/subscribe/api/. What the real server refuses is refused: names of topics, bodies over 4 KiB,
more than three buttons, buttons that are not written as it wants them.
"""

from __future__ import annotations

import http.server
import itertools
import json
import re
import time
import urllib.request
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .loopback import Loopback, QuietHandler

_TOPIC = re.compile(r"[\w\-]{1,64}")


@dataclass
class Button:
    """One action of a notification, as the app understands it."""

    label: str
    url: str
    method: str = "POST"
    body: str = ""
    clear: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Notification:
    """One message of a topic."""

    id: str
    time: int
    topic: str
    message: str
    title: str = ""
    priority: str = ""
    tags: str = ""
    buttons: list[Button] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        doc = {"id": self.id, "time": self.time, "event": "message", "topic": self.topic}
        return doc | {"message": self.message} | ({"title": self.title} if self.title else {})


def buttons_of(text: str) -> list[Button]:
    """The short form of actions: ``http, LABEL, URL, key=value, …; …``. Raises ValueError."""
    found = []
    for one in filter(None, (part.strip() for part in text.split(";"))):
        kind, label, url, *more = (part.strip() for part in one.split(","))
        if kind != "http" or not label or not url.startswith(("http://", "https://")):
            raise ValueError(one)
        button = Button(label, url)
        for pair in more:
            key, sign, value = pair.partition("=")
            if not sign or key not in ("method", "body", "clear"):
                raise ValueError(pair)
            setattr(button, key, value == "true" if key == "clear" else value)
        found.append(button)
    if len(found) > 3:
        raise ValueError("too many actions")
    return found


class Ntfy:
    """The server. ``login``: user and password without which no topic may be read; ``status``: what it answers to
    whoever reads."""

    def __init__(self, login: str = "") -> None:
        self.topics: dict[str, list[Notification]] = {}
        self.reads: list[str] = []
        """Targets of all requests that read."""
        self.status = 200
        self.junk = b""
        """Put before what is read."""
        self._ids = itertools.count(1)
        outer = self

        class Handler(QuietHandler, http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                status = outer._publish(self.path, dict(self.headers), body)
                self._say(status, b"{}")

            def do_PUT(self) -> None:
                self.do_POST()

            def do_GET(self) -> None:
                outer.reads.append(self.path)
                given = str(self.headers.get("authorization") or "").removeprefix("Basic ")
                known = not login or b64decode(given).decode() == login
                status = outer.status if known else 403
                self._say(status, outer._read(self.path) if status == 200 else b"")

            def _say(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = Loopback(Handler)
        self.url = self._server.url
        self.apprise = self.url.replace("http://", "ntfy://")

    def close(self) -> None:
        self._server.close()

    def write(self, topic: str, message: str) -> Notification:
        """Somebody writes to a topic."""
        made = Notification(f"id{next(self._ids):09}", int(time.time()), topic, message)
        self.topics.setdefault(topic, []).append(made)
        return made

    def _publish(self, path: str, headers: dict[str, str], body: bytes) -> int:
        parts = urlsplit(path)
        given = {f"x-{k}": v[0] for k, v in parse_qs(parts.query).items()}
        given |= {name.lower(): value for name, value in headers.items()}
        topic, text = parts.path.strip("/"), body.decode("utf-8", "replace")
        if not topic:
            doc = json.loads(text)
            topic, text = str(doc["topic"]), str(doc.get("message", ""))
            given |= {f"x-{key}": str(value) for key, value in doc.items()}
        elif "x-filename" in given:
            text = given.get("x-message", "")
        if not _TOPIC.fullmatch(topic) or len(text.encode()) > 4096:
            return 400
        try:
            buttons = buttons_of(given.get("x-actions", ""))
        except ValueError:
            return 400
        made = self.write(topic, text)
        made.title, made.priority = given.get("x-title", ""), given.get("x-priority", "")
        made.tags, made.buttons = given.get("x-tags", ""), buttons
        return 200

    def _read(self, path: str) -> bytes:
        parts = urlsplit(path)
        topic, query = parts.path.strip("/").removesuffix("/json"), parse_qs(parts.query)
        since = query["since"][0]
        messages = self.topics.get(topic, [])
        ids = [one.id for one in messages]
        if since.isdigit():
            messages = [one for one in messages if one.time >= int(since)]
        elif since in ids:
            messages = messages[ids.index(since) + 1 :]
        lines = [json.dumps(one.told()).encode() + b"\n" for one in list(messages)]
        return self.junk + b"".join(lines)


def press(button: Button) -> int:
    """What the app does when somebody presses a button; the status that it gets."""
    asked = urllib.request.Request(
        button.url, button.body.encode(), button.headers, method=button.method
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return int(answer.status)
