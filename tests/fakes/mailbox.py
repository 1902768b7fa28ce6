"""A mail server on loopback, aiosmtpd, that keeps what it is sent and refuses a mail that is not well made."""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable
from email import message_from_bytes, policy
from email.errors import MessageDefect
from email.message import EmailMessage
from html import unescape
from typing import Any

from aiosmtpd.controller import Controller


class _Server(Controller):
    """On a port that is free: its own way takes the number before it has one."""

    def __init__(self, handler: object) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        host, port = self._socket.getsockname()
        super().__init__(handler, host, port, ready_timeout=120.0)

    def _create_server(self) -> Awaitable[Any]:
        return self.loop.create_server(self._factory_invoker, sock=self._socket)


class Mailbox:
    """Used by `with`; ``got`` has each mail, and ``sent_to`` for whom it was."""

    def __init__(self) -> None:
        self.got: list[EmailMessage] = []
        self.sent_to: list[list[str]] = []
        self._server = _Server(self)
        self.port: int = self._server.port

    async def handle_DATA(  # noqa: N802 - aiosmtpd looks for this name
        self, _server: object, _session: object, envelope: Any
    ) -> str:
        """Take a mail; what is not in the form of a mail (RFC 5322, MIME) is refused, as are bytes that a
        server of 7 bits would have spoilt."""
        if not envelope.content.isascii():
            return "554 8-bit data"
        strict = policy.default.clone(raise_on_defect=True)
        try:
            mail = message_from_bytes(envelope.content, policy=strict)
            assert isinstance(mail, EmailMessage)
            for part in mail.walk():
                part.get_payload(decode=True)
        except MessageDefect as error:
            return f"554 {type(error).__name__}"
        self.got.append(mail)
        self.sent_to.append(list(envelope.rcpt_tos))
        return "250 OK"

    def __enter__(self) -> Mailbox:
        self._server.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.stop()


def text_of(mail: EmailMessage) -> str:
    """What a mail program shows of it."""
    part = mail.get_body(("plain", "html"))
    assert part is not None
    text = str(part.get_content())
    if part.get_content_type() == "text/html":
        text = unescape(re.sub(r"<[^>]+>", "", re.sub(r"<br\s*/?>", "\n", text)))
    return text.replace("\xa0", " ").strip()


def files_of(mail: EmailMessage) -> dict[str, bytes]:
    """The files that are attached, by name."""
    found = {}
    for part in mail.iter_attachments():
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        found[str(part.get_filename())] = data
    return found
