"""What stands behind the names of real services: HTTPS servers on loopback that check what these check.

They are reached as on a box behind a company's proxy: by CONNECT to a proxy, which here ends the TLS
itself, with a certificate for their names. Nothing of Apprise is replaced.
"""

from __future__ import annotations

import http.server
import json
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from .loopback import Loopback, QuietHandler

NAMES = (
    "api.telegram.org",
    "hooks.slack.com",
    "discord.com",
    "api.pushover.net",
    "sctapi.ftqq.com",
    "qyapi.weixin.qq.com",
    "api.twilio.com",
)
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass
class Request:
    """One request as a service got it; ``fields`` of a form or JSON, ``files`` of a multipart form."""

    host: str
    path: str
    headers: dict[str, str]
    body: bytes
    fields: dict[str, Any] = field(default_factory=dict)
    files: dict[str, tuple[str, str, bytes]] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    answer: int = 0


class _Markup(HTMLParser):
    """The HTML that Telegram takes; what it does not take is an error of the whole message."""

    allowed = frozenset(("b", "strong", "i", "em", "u", "s", "a", "code", "pre", "br"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text, self.wrong = "", ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.wrong = self.wrong or ("" if tag in self.allowed else f"Unsupported start tag {tag}")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong = self.wrong or f"Unexpected end tag {tag}"

    def handle_data(self, data: str) -> None:
        self.text += data


def telegram_text(html: str) -> str:
    """What Telegram shows of a text in HTML. Raises ValueError as it refuses one."""
    seen = _Markup()
    seen.feed(html)
    seen.close()
    if seen.wrong or seen.open or not seen.text.strip():
        raise ValueError(seen.wrong or "can't find end tag")
    return seen.text


def _telegram(got: Request) -> tuple[int, Any]:
    if got.path.endswith("/sendMessage"):
        text, most = got.fields["text"], 4096
    else:
        kind = "photo" if got.path.endswith("/sendPhoto") else "document"
        _, _, data = got.files[kind]
        if kind == "photo" and not data.startswith(PNG):
            return 400, {"ok": False, "description": "Bad Request: IMAGE_PROCESS_FAILED"}
        text, most = got.fields.get("caption", "-"), 1024
    try:
        shown = telegram_text(text)
    except ValueError as error:
        return 400, {"ok": False, "description": f"Bad Request: can't parse entities: {error}"}
    if len(shown) > most:
        return 400, {"ok": False, "description": "Bad Request: message is too long"}
    return 200, {"ok": True, "result": {}}


def _slack(got: Request) -> tuple[int, Any]:
    (part,) = got.fields["attachments"]
    if re.search(r"<(?!mailto:|https?:)|>(?!$)", part["title"] + part["text"]):
        return 400, "invalid_payload"
    return 200, "ok"


def _discord(got: Request) -> tuple[int, Any]:
    if "payload_json" in got.fields:
        got.fields |= json.loads(got.fields["payload_json"])
    if not got.files and not got.fields.get("content"):
        return 400, {"code": 50006, "message": "Cannot send an empty message"}
    if len(got.fields.get("content", "")) > 2000:
        return 400, {"content": ["Must be 2000 or fewer in length."]}
    return 200, {}


def _pushover(got: Request) -> tuple[int, Any]:
    errors = []
    if not got.fields.get("message"):
        errors.append("message cannot be blank")
    if len(got.fields.get("message", "")) > 1024 or len(got.fields.get("title", "")) > 250:
        errors.append("message is too long")
    if got.fields.get("priority") == "2":
        retry, expire = int(got.fields.get("retry", 0)), int(got.fields.get("expire", 0))
        if retry < 30:
            errors.append("retry must be at least 30 seconds")
        if not 0 < expire <= 10800:
            errors.append("expire must be no more than 10800 seconds")
    for _, _, data in got.files.values():
        if not data.startswith(PNG) or len(data) > 5 << 20:
            errors.append("attachment is not an image")
    return (400, {"status": 0, "errors": errors}) if errors else (200, {"status": 1})


def _serverchan(got: Request) -> tuple[int, Any]:
    if not 0 < len(got.fields["title"]) <= 32 or len(got.fields["desp"].encode()) > 32 << 10:
        return 400, {"code": 40001, "message": "bad title or desp"}
    return 200, {"code": 0}


def _wecom(got: Request) -> tuple[int, Any]:
    if len(got.fields["text"]["content"].encode()) > 2048:
        return 400, {"errcode": 40058, "errmsg": "content exceed max length"}
    return 200, {"errcode": 0}


def _twilio(got: Request) -> tuple[int, Any]:
    return (201, {"sid": "SM1"}) if got.fields.get("Body") else (400, {"message": "empty"})


_CHECKS = dict(
    zip(NAMES, (_telegram, _slack, _discord, _pushover, _serverchan, _wecom, _twilio), strict=True)
)


class Services:
    """All of them behind one proxy; ``refuse_files`` answers 413 to every request with a file."""

    def __init__(self, folder: Path) -> None:
        self.got: list[Request] = []
        self.refuse_files = False
        self.certificate = certificate(folder, NAMES)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, folder / "key.pem")
        outer = self

        class Handler(QuietHandler, http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            host = ""

            def do_CONNECT(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.flush()
                self.host = self.path.partition(":")[0]
                self.connection = context.wrap_socket(self.connection, server_side=True)
                self.rfile = self.connection.makefile("rb")
                self.wfile = self.connection.makefile("wb", buffering=0)
                self.close_connection = False

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                got = parsed(self.host, self.path, dict(self.headers), body)
                if outer.refuse_files and got.files:
                    status, said = 413, {"message": "Request entity too large"}
                else:
                    status, said = _CHECKS[self.host](got)
                got.answer = status
                outer.got.append(got)
                data = said.encode() if isinstance(said, str) else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def finish(self) -> None:
                super().finish()
                self.connection.close()

        self._server = Loopback(Handler)
        self.proxy = self._server.url

    def close(self) -> None:
        self._server.close()


def parsed(host: str, path: str, headers: dict[str, str], body: bytes) -> Request:
    """A request with its fields and files."""
    parts = urlsplit(path)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    got = Request(host, parts.path, headers, body, query=query)
    kind = {name.lower(): value for name, value in headers.items()}.get("content-type", "")
    if kind.startswith("application/json"):
        got.fields = json.loads(body)
    elif kind.startswith("application/x-www-form-urlencoded"):
        form = parse_qs(body.decode(), keep_blank_values=True)
        got.fields = {name: values[0] for name, values in form.items()}
    elif kind.startswith("multipart/form-data"):
        whole = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        for part in whole.iter_parts():
            name = str(part.get_param("name", header="content-disposition"))
            data = part.get_payload(decode=True)
            assert isinstance(data, bytes)
            if part.get_filename():
                got.files[name] = str(part.get_filename()), part.get_content_type(), data
            else:
                got.fields[name] = data.decode()
    return got


def certificate(folder: Path, names: Iterable[str]) -> Path:
    """A certificate for these names, signed by itself; its key, ``key.pem``, lies beside it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate for the services can be made")
    alternative = ",".join(f"DNS:{name}" for name in names)
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
    ]
    command += [
        "-nodes",
        "-days",
        "30",
        "-subj",
        "/CN=services",
        "-addext",
        f"subjectAltName={alternative}",
    ]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder / "cert.pem"
